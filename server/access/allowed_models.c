/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/allowed_models.h"

#include <string.h>

#include "core/base/ascii.h"

enum { PATTERN_MOST = 128 };

/* Takes the next pattern off a list; false when there is none left. */
static bool take_pattern(struct nb_string *list, struct nb_string *pattern)
{
    if (list->bytes == NULL)
        return false;
    const char *comma = memchr(list->bytes, ',', list->length);
    *pattern = (struct nb_string){list->bytes,
                                  comma != NULL ? (size_t)(comma - list->bytes) : list->length};
    if (comma != NULL)
        *list = nb_string_from(*list, pattern->length + 1);
    else
        *list = (struct nb_string){NULL, 0};
    return true;
}

bool nb_models_are_patterns(struct nb_string text)
{
    struct nb_string pattern;
    while (take_pattern(&text, &pattern)) {
        if (pattern.length == 0 || pattern.length > PATTERN_MOST)
            return false;
        for (size_t i = 0; i < pattern.length; i++) {
            char c = pattern.bytes[i];
            if (c == '\0' || (!nb_ascii_is_alphanumeric(c) && strchr("._@+-*?", c) == NULL))
                return false;
        }
    }
    return true;
}

bool nb_models_are_all(const char *patterns)
{
    struct nb_string list = nb_string_of(patterns), pattern;
    while (take_pattern(&list, &pattern)) {
        if (nb_string_equals(pattern, "*"))
            return true;
    }
    return false;
}

/* fnmatch is not used: its time grows exponentially with the number of stars. After a mismatch it
 * is enough to let the last star take one byte more (the earlier ones have already found their
 * leftmost places). */
static bool matches(struct nb_string pattern, struct nb_string name)
{
    size_t p = 0, n = 0, star = pattern.length, taken = 0;
    while (n < name.length) {
        if (p < pattern.length && pattern.bytes[p] == '*') {
            star = p++;
            taken = n;
        } else if (p < pattern.length &&
                   (pattern.bytes[p] == '?' || pattern.bytes[p] == name.bytes[n])) {
            p++;
            n++;
        } else if (star < pattern.length) {
            p = star + 1;
            n = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.bytes[p] == '*')
        p++;
    return p == pattern.length;
}

bool nb_models_match(const char *patterns, struct nb_string name)
{
    struct nb_string list = nb_string_of(patterns), pattern;
    while (take_pattern(&list, &pattern)) {
        if (matches(pattern, name))
            return true;
    }
    return false;
}

int nb_models_check(const char *patterns, struct nb_string name, struct nb_error *error)
{
    if (nb_models_match(patterns, name))
        return 0;
    return nb_error_set(error, NB_FORBIDDEN, "this token is for the models %s only, not for '%.*s'",
                        patterns, (int)(name.length < 128 ? name.length : 128), name.bytes);
}
