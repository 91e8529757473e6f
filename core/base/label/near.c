/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label/near.h"

#include <stdint.h>
#include <string.h>

enum { SHORT_MOST = 2, LONG_LEAST = 6 };

static unsigned char folded(char c)
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
            unsigned char x = folded(a.bytes[i - 1]), y = folded(b.bytes[k - 1]);
            now[k] = least(least(now[k - 1], last[k]) + 1, last[k - 1] + (x != y));
            if (i > 1 && k > 1 && x == folded(b.bytes[k - 2]) && y == folded(a.bytes[i - 2]))
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
