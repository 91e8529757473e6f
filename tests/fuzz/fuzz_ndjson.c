/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as lines in pieces: the same number of lines and bytes whatever the pieces, none longer
 * than the limit.
 */
#include <stdint.h>

#include "server/base/ndjson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct nb_ndjson_line *line, size_t most, uint64_t *sum)
{
    if (line->text.length > most || (line->is_too_long && line->text.length > 0))
        __builtin_trap();
    *sum += line->number * 1000003 + line->text.length + (line->is_too_long ? 500 : 0);
}

static uint64_t split(const uint8_t *data, size_t size, size_t piece, size_t most)
{
    struct nb_splitter splitter;
    struct nb_ndjson_line line;
    uint64_t sum = 0;
    nb_splitter_init(&splitter, most);
    for (size_t at = 0; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        struct nb_string input = {(const char *)data + at, length};
        while (nb_splitter_next(&splitter, &input, &line) == 1)
            check(&line, most, &sum);
    }
    if (nb_splitter_last(&splitter, &line) == 1)
        check(&line, most, &sum);
    nb_splitter_deinit(&splitter);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t most = data[0], piece = (size_t)data[1] + 1;
    if (split(data + 2, size - 2, piece, most) != split(data + 2, size - 2, size, most))
        __builtin_trap();
    return 0;
}
