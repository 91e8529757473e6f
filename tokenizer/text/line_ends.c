/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/line_ends.h"

#include <stdbool.h>
#include <string.h>

size_t nb_line_ends_span(struct nb_string text, size_t most, size_t *counted)
{
    size_t at = 0;
    *counted = 0;
    while (at < text.length && *counted < most) {
        size_t rest = text.length - at < most - *counted ? text.length - at : most - *counted;
        const char *begin = text.bytes + at, *found = memchr(begin, '\r', rest);
        size_t before = found != NULL ? (size_t)(found - begin) : rest;
        at += before;
        *counted += before;
        if (found == NULL)
            continue;
        at++;
        bool is_end = at < text.length && text.bytes[at] == '\n';
        *counted += !is_end;
    }
    return at;
}

size_t nb_line_ends_size(struct nb_string text)
{
    size_t counted;
    (void)nb_line_ends_span(text, text.length, &counted);
    return counted;
}
