/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label/label.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

static bool is_ascii(struct nb_string s)
{
    bool is = true;
    for (size_t i = 0; i < s.length; i++)
        is = is && (unsigned char)s.bytes[i] < 0x80;
    return is;
}

static bool is_space(utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xFEFF ||
           category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

static struct nb_string trim(struct nb_string s)
{
    utf8proc_int32_t c;
    while (s.length > 0) {
        utf8proc_ssize_t length =
            utf8proc_iterate((const utf8proc_uint8_t *)s.bytes, (utf8proc_ssize_t)s.length, &c);
        if (length <= 0 || !is_space(c))
            break;
        s = nb_string_from(s, (size_t)length);
    }
    while (s.length > 0) {
        size_t at = s.length - 1;
        while (at > 0 && nb_utf8_is_continuation((unsigned char)s.bytes[at]))
            at--;
        if (utf8proc_iterate((const utf8proc_uint8_t *)s.bytes + at,
                             (utf8proc_ssize_t)(s.length - at), &c) <= 0 ||
            !is_space(c))
            break;
        s.length = at;
    }
    return s;
}

int nb_label_normalize(struct nb_string *label, struct nb_buffer *room)
{
    if (label->bytes == NULL || !nb_utf8_is_valid(*label))
        return 0;
    *label = trim(*label);
    if (is_ascii(*label))
        return 0;
    utf8proc_uint8_t *composed = NULL;
    utf8proc_ssize_t length =
        utf8proc_map((const utf8proc_uint8_t *)label->bytes, (utf8proc_ssize_t)label->length,
                     &composed, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (length < 0)
        return length == UTF8PROC_ERROR_NOMEM ? NB_NO_MEMORY : 0;
    room->length = 0;
    int rc = nb_buffer_append(room, composed, (size_t)length);
    free(composed);
    if (rc == 0)
        *label = (struct nb_string){room->bytes, room->length};
    return rc;
}

/* The text without what does not show; the caller frees it. NULL: no memory, or it is not UTF-8. */
static utf8proc_uint8_t *shape_of(struct nb_string s, utf8proc_ssize_t *length)
{
    utf8proc_uint8_t *shape = NULL;
    *length = utf8proc_map((const utf8proc_uint8_t *)s.bytes, (utf8proc_ssize_t)s.length, &shape,
                           UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                               UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
    return *length < 0 ? NULL : shape;
}

bool nb_label_looks_same(struct nb_string a, struct nb_string b)
{
    utf8proc_ssize_t a_length, b_length;
    if (a.length == 0 || b.length == 0 || nb_string_same(a, b))
        return false;
    if (is_ascii(a) && is_ascii(b)) /* of these only the case differs: fifty times as fast */
        return a.length == b.length && nb_string_has_nocase(a.bytes, b.bytes, a.length);
    utf8proc_uint8_t *x = shape_of(a, &a_length), *y = shape_of(b, &b_length);
    bool same =
        x != NULL && y != NULL && a_length == b_length && memcmp(x, y, (size_t)a_length) == 0;
    free(x);
    free(y);
    return same;
}

bool nb_label_is_lossy(struct nb_string label)
{
    return label.length >= 3 && memmem(label.bytes, label.length, "\xEF\xBF\xBD", 3) != NULL;
}
