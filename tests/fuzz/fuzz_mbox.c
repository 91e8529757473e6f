/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an mbox: it ends, and no mail is longer than what was read.
 */
#include <stdint.h>

#include "tokenizer/mail_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_mbox mbox = nb_mbox_of((const char *)data, size);
    struct nb_buffer mail = {0};
    const char *before = mbox.at;
    while (nb_mbox_next(&mbox, &mail) == 1) {
        if (mbox.at <= before || mail.length > (size_t)(mbox.at - before))
            __builtin_trap();
        before = mbox.at;
    }
    nb_buffer_deinit(&mail);
    return 0;
}
