/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the value of a header field with encoded words: it ends, within the work that the
 * first byte allows, and what comes out is bounded by what went in.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tokenizer/document.h"
#include "tokenizer/mail_charset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    if (!ready && nb_tokenizer_setup(NULL) != 0)
        abort();
    ready = true;
    if (size == 0)
        return 0;
    struct nb_bag_work work = {.left = data[0] == 0 ? UINT64_MAX : (uint64_t)data[0] << 10};
    struct nb_mail_charsets charsets = {.state = {.work = &work}};
    struct nb_buffer out = {0};
    struct nb_string value = {(const char *)data + 1, size - 1};
    if (nb_mail_decode_words(&charsets, value, &out) != 0)
        abort();
    /* An encoded word takes 16 bytes more than 4 for each of its own. */
    if (out.length > 20 * size)
        __builtin_trap();
    nb_buffer_deinit(&out);
    nb_mail_charsets_deinit(&charsets);
    return 0;
}
