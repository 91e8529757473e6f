/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/string.h"

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
