/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/formats/calendar.h"

#include <assert.h>
#include <stdbool.h>

#include "core/base/error.h"

/* Returns the position after the line break and blank of a fold at `at`; `at` itself if there is
 * none. */
static const char *behind_fold(const char *at, const char *end)
{
    const char *next = at;
    if (next < end && *next == '\r')
        next++;
    if (next < end && *next == '\n')
        next++;
    bool folds = next > at && next < end && (*next == ' ' || *next == '\t');
    return folds ? next + 1 : at;
}

static bool is_escapable(char c)
{
    return c == '\\' || c == ',' || c == ';' || c == ':' || c == '"';
}

int nb_calendar_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *at = text.bytes;
    const char *end = at + text.length;
    bool is_escaped = false;
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    while (at < end) {
        const char *next = behind_fold(at, end);
        if (next > at) { /* perhaps between a backslash and its letter */
            at = next;
            continue;
        }
        char c = *at++;
        if (!is_escaped && c == '\\') {
            is_escaped = true;
            continue;
        }
        if (is_escaped && (c == 'n' || c == 'N'))
            c = '\n';
        else if (is_escaped && !is_escapable(c))
            *to++ = '\\';
        *to++ = c;
        is_escaped = false;
    }
    if (is_escaped)
        *to++ = '\\';
    out->length = (size_t)(to - out->bytes);
    assert(out->length <= out->capacity);
    return 0;
}
