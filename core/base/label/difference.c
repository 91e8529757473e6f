/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label/difference.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/label/label.h"

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
    size_t rows[3][NB_NEAR_MOST + 1]; /* of the prefixes of `a` with i - 2, i - 1 and i bytes */
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

/* Whether two words are the same but for the numbers in them. */
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
