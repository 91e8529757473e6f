/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/formats/flowed.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/lines.h"

int nb_flowed_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *end = text.bytes + text.length;
    bool goes_on = false; /* the line before ended with a blank */
    size_t depth = 0;     /* quoting depth of the line before */
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    size_t began = out->length;
    for (const char *line = text.bytes, *next; line < end; line = next) {
        next = nb_lines_next(line, end);
        struct nb_string whole = {line, (size_t)(next - line)};
        struct nb_string rest = nb_string_trim_start(whole, ">");
        size_t quotes = whole.length - rest.length;
        if (rest.length > 0 && rest.bytes[0] == ' ') /* space-stuffing (4.4) */
            rest = nb_string_from(rest, 1);
        struct nb_string words = nb_string_trim_end(rest, "\r\n");
        bool is_signature = words.length == 3 && memcmp(words.bytes, "-- ", 3) == 0;
        bool is_joined = goes_on && quotes == depth && !is_signature;
        goes_on = !is_signature && words.length > 0 && words.bytes[words.length - 1] == ' ';
        if (goes_on && words.length < rest.length)
            rest = (struct nb_string){words.bytes, words.length - 1};
        size_t length = out->length;
        if (!is_joined && length > began && out->bytes[length - 1] != '\n')
            out->bytes[out->length++] = '\n'; /* the line end of the line before, not written yet */
        if (!is_joined) {
            memcpy(out->bytes + out->length, line, quotes);
            out->length += quotes;
        }
        memcpy(out->bytes + out->length, rest.bytes, rest.length);
        out->length += rest.length;
        depth = quotes;
    }
    assert(out->length <= out->capacity);
    return 0;
}
