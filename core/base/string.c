/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/string.h"

#include <assert.h>
#include <stdlib.h>

static const char WHITE_SPACE[] = " \t\n\v\f\r";

int nb_string_compare(struct nb_string a, struct nb_string b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter == 0 ? 0 : memcmp(a.bytes, b.bytes, shorter);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

char *nb_string_copy(struct nb_string s)
{
    char *copy = malloc(s.length + 1);
    if (copy == NULL)
        return NULL;
    if (s.length > 0)
        memcpy(copy, s.bytes, s.length);
    copy[s.length] = '\0';
    return copy;
}

void nb_strings_free(char **list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++)
        free(list[i]);
    free(list);
}

struct nb_string nb_string_trim_start(struct nb_string s, const char *set)
{
    size_t count = 0;
    while (count < s.length && nb_string_is_one_of(s.bytes[count], set))
        count++;
    return nb_string_from(s, count);
}

struct nb_string nb_string_trim_end(struct nb_string s, const char *set)
{
    while (s.length > 0 && nb_string_is_one_of(s.bytes[s.length - 1], set))
        s.length--;
    return s;
}

struct nb_string nb_string_trim(struct nb_string s)
{
    return nb_string_trim_end(nb_string_trim_start(s, WHITE_SPACE), WHITE_SPACE);
}

size_t nb_utf8_sequence(const unsigned char *at, const unsigned char *end)
{
    assert(at < end);
    unsigned char c = at[0];
    if (c < 0x80)
        return 1;
    size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!nb_utf8_is_continuation(at[i]))
            return 0;
    /* After these first bytes the range of the second byte is narrower (RFC 3629, section 4). */
    if ((c == 0xE0 && at[1] < 0xA0) || (c == 0xED && at[1] > 0x9F) || (c == 0xF0 && at[1] < 0x90) ||
        (c == 0xF4 && at[1] > 0x8F))
        return 0;
    return length;
}

bool nb_utf8_is_valid(struct nb_string s)
{
    const unsigned char *at = (const unsigned char *)s.bytes;
    for (size_t left = s.length, length; left > 0; at += length, left -= length) {
        length = nb_utf8_sequence(at, at + left);
        if (length == 0)
            return false;
    }
    return true;
}

size_t nb_utf8_control(const unsigned char *at, const unsigned char *end)
{
    if (at[0] < 0x20 || at[0] == 0x7F)
        return 1;
    return at[0] == 0xC2 && end - at >= 2 && at[1] >= 0x80 && at[1] < 0xA0 ? 2 : 0;
}

bool nb_utf8_has_control(struct nb_string s)
{
    const unsigned char *at = (const unsigned char *)s.bytes;
    for (const unsigned char *end = at + s.length; at < end; at++)
        if (nb_utf8_control(at, end) > 0)
            return true;
    return false;
}

struct nb_string nb_utf8_cut(struct nb_string s, size_t most)
{
    if (s.length <= most)
        return s;
    /* A character has at most three bytes after its first one: if there are more, the text is not
     * valid, and may be cut anywhere. */
    for (size_t back = 0; back <= most && back < NB_UTF8_MOST; back++)
        if (!nb_utf8_is_continuation((unsigned char)s.bytes[most - back]))
            return (struct nb_string){s.bytes, most - back};
    return (struct nb_string){s.bytes, most};
}
