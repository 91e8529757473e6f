/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a gzip or zstd body in pieces: it ends, in an error or in no more than was allowed.
 */
#include <stdint.h>

#include "server/http/decoder.h"

enum { MOST = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_decoder *decoder = NULL;
    struct nb_buffer out = {NULL, 0, 0};
    if (size < 2 || nb_decoder_new((enum nb_coding)(data[0] % 4), &decoder) != 0)
        return 0;
    size_t piece = (size_t)data[1] + 1;
    int rc = 0;
    for (size_t at = 2; rc == 0 && at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        rc = nb_decoder_append(decoder, (struct nb_string){(const char *)data + at, length}, MOST,
                               &out, NULL);
    }
    (void)nb_decoder_finish(decoder, NULL);
    if (out.length > MOST)
        __builtin_trap();
    nb_decoder_free(&decoder);
    nb_buffer_deinit(&out);
    return 0;
}
