/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/names.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/string.h"

enum { LABEL_MOST = 64, ID_MOST = 256 };

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

int nb_check_model_name(struct nb_string name, struct nb_error *error)
{
    bool good =
        name.length >= 1 && name.length <= NB_MODEL_NAME_MOST && is_alphanumeric(*name.bytes);
    for (size_t i = 1; good && i < name.length; i++)
        good = is_alphanumeric(name.bytes[i]) || strchr("._@+-", name.bytes[i]) != NULL;
    for (size_t i = 0; good && i < name.length; i++)
        good = name.bytes[i] != '\0';
    if (good)
        return 0;
    (void)nb_error_set(error, NB_UNUSABLE,
                       "a model's name is 1 to %d letters, digits and . _ @ + - and begins with "
                       "a letter or digit",
                       NB_MODEL_NAME_MOST);
    return nb_error_about(error, NB_UNUSABLE, NULL, "model");
}

int nb_check_label(struct nb_string label, struct nb_error *error)
{
    if (label.length >= 1 && label.length <= LABEL_MOST && nb_utf8_is_valid(label) &&
        !nb_utf8_has_control(label))
        return 0;
    if (label.length >= 1 && label.length <= LABEL_MOST)
        (void)nb_error_set(error, NB_UNUSABLE,
                           "`label` is UTF-8 without control characters; this one %s",
                           nb_utf8_is_valid(label) ? "has some" : "is not UTF-8");
    else
        (void)nb_error_set(error, NB_UNUSABLE,
                           "`label` is 1 to %d bytes of UTF-8 without control characters, not %zu",
                           LABEL_MOST, label.length);
    return nb_error_about(error, NB_UNUSABLE, NULL, "label");
}

int nb_check_id(struct nb_string id, struct nb_error *error)
{
    if (id.length >= 1 && id.length <= ID_MOST && nb_utf8_is_valid(id))
        return 0;
    (void)nb_error_set(error, NB_UNUSABLE, "`id` is 1 to %d bytes of UTF-8, not %zu%s", ID_MOST,
                       id.length,
                       id.length >= 1 && id.length <= ID_MOST ? " that are not UTF-8" : "");
    return nb_error_about(error, NB_UNUSABLE, NULL, "id");
}

int nb_check_source(struct nb_string source, struct nb_error *error)
{
    if (source.length <= NB_SOURCE_MOST && nb_utf8_is_valid(source) && !nb_utf8_has_control(source))
        return 0;
    (void)nb_error_set(error, NB_UNUSABLE,
                       "`source` is at most %d bytes of UTF-8 without control characters",
                       NB_SOURCE_MOST);
    return nb_error_about(error, NB_UNUSABLE, NULL, "source");
}

/* ---- labels as text -------------------------------------------------------------------------- */

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

/* Returns the text without invisible characters and other differences that a reader hardly sees;
 * the caller frees it. NULL: out of memory, or the text is not UTF-8. */
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
    if (is_ascii(a) && is_ascii(b)) /* only case can differ; fifty times as fast */
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

static utf8proc_uint8_t *folded(struct nb_string s, utf8proc_ssize_t *length)
{
    utf8proc_uint8_t *made = NULL;
    *length = utf8proc_map((const utf8proc_uint8_t *)s.bytes, (utf8proc_ssize_t)s.length, &made,
                           UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
    return *length < 0 ? NULL : made;
}

static bool differ_in_case(struct nb_string a, struct nb_string b)
{
    utf8proc_ssize_t a_length, b_length;
    utf8proc_uint8_t *x = folded(a, &a_length), *y = folded(b, &b_length);
    bool do_so =
        x != NULL && y != NULL && a_length == b_length && memcmp(x, y, (size_t)a_length) == 0;
    free(x);
    free(y);
    return do_so;
}

enum nb_label_difference nb_label_difference_of(struct nb_string a, struct nb_string b)
{
    if (nb_label_looks_same(a, b))
        return differ_in_case(a, b) ? NB_LABEL_CAPITALS : NB_LABEL_UNSEEN;
    return nb_near_is(a, b) ? NB_LABEL_NEAR : NB_LABEL_OTHER;
}

static const char *text_of(enum nb_label_difference difference)
{
    return difference == NB_LABEL_CAPITALS ? "only by capitals"
           : difference == NB_LABEL_UNSEEN ? "only by characters that are not seen or look the same"
                                           : "by one or two letters";
}

void nb_label_difference_say(struct nb_string label, struct nb_string old,
                             enum nb_label_difference difference, char text[NB_LABEL_WARNING])
{
    assert(difference != NB_LABEL_OTHER);
    (void)snprintf(text, NB_LABEL_WARNING, "the label '%.*s' is new and differs from '%.*s' %s",
                   (int)label.length, label.bytes, (int)old.length, old.bytes, text_of(difference));
}

enum { SHORT_MOST = 2, LONG_LEAST = 6 };

static unsigned char lower_case(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static struct nb_string cut(struct nb_string word)
{
    return word.length <= NB_NEAR_MOST ? word : (struct nb_string){word.bytes, NB_NEAR_MOST};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nb_near_distance(struct nb_string a, struct nb_string b)
{
    size_t rows[3][NB_NEAR_MOST + 1]; /* distances of the prefixes of `a` of i - 2 to i bytes */
    a = cut(a);
    b = cut(b);
    for (size_t k = 0; k <= b.length; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a.length; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t k = 1; k <= b.length; k++) {
            unsigned char x = lower_case(a.bytes[i - 1]), y = lower_case(b.bytes[k - 1]);
            now[k] = least(least(now[k - 1], last[k]) + 1, last[k - 1] + (x != y));
            if (i > 1 && k > 1 && x == lower_case(b.bytes[k - 2]) &&
                y == lower_case(a.bytes[i - 2]))
                now[k] = least(now[k], before[k - 2] + 1);
        }
    }
    return rows[a.length % 3][b.length];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether two words differ at most in the numbers that they contain. */
static bool differ_in_numbers(struct nb_string a, struct nb_string b)
{
    size_t i = 0, k = 0;
    while (i < a.length && k < b.length) {
        if (is_digit(a.bytes[i]) != is_digit(b.bytes[k]) ||
            (!is_digit(a.bytes[i]) && a.bytes[i] != b.bytes[k]))
            return false;
        bool is_number = is_digit(a.bytes[i]);
        i++;
        k++;
        for (; is_number && i < a.length && is_digit(a.bytes[i]); i++)
            ;
        for (; is_number && k < b.length && is_digit(b.bytes[k]); k++)
            ;
    }
    return i == a.length && k == b.length;
}

bool nb_near_is(struct nb_string a, struct nb_string b)
{
    size_t shorter = least(a.length, b.length);
    if (nb_string_same(a, b) || shorter <= SHORT_MOST || differ_in_numbers(a, b))
        return false;
    size_t most = shorter >= LONG_LEAST ? 2 : 1;
    size_t longer = a.length > b.length ? a.length : b.length;
    return longer - shorter <= most && nb_near_distance(a, b) <= most;
}

enum { SHOWN = 64 /* bytes of a label in a message */ };

static int shown(struct nb_string s)
{
    return s.length < SHOWN ? (int)s.length : SHOWN;
}

/* Whether `level` is the part of `label` before one of its slashes. */
static bool is_level_of(struct nb_string level, struct nb_string label)
{
    return level.length > 0 && level.length < label.length && label.bytes[level.length] == '/' &&
           memcmp(level.bytes, label.bytes, level.length) == 0;
}

void nb_level_hint_add(struct nb_level_hint *hint, struct nb_string wanted, struct nb_string label)
{
    if (is_level_of(wanted, label)) {
        if (!hint->is_below)
            (void)snprintf(hint->text, sizeof hint->text,
                           ": '%.*s' is a level of labels and no label itself; a label is named "
                           "in full, as '%.*s' is",
                           shown(wanted), wanted.bytes, shown(label), label.bytes);
        hint->is_below = true;
    } else if (hint->text[0] == '\0' && is_level_of(label, wanted)) {
        (void)snprintf(hint->text, sizeof hint->text,
                       ": the labels here end with '%.*s', name that one", shown(label),
                       label.bytes);
    }
}
