/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file with a mail: the search for its header ends, and what it finds lies in the
 * file or in what was converted, which is no longer than UTF-8 makes UTF-16. The mail of a mail is
 * the same.
 */
#include <stdint.h>
#include <stdlib.h>

#include "tokenizer/mail_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_string file = {(const char *)data, size}, mail, again;
    struct nb_buffer out = {0}, second = {0};
    if (nb_mail_of_file(file, &out, &mail) != 0)
        abort();
    check(mail.length <= 2 * size);
    if (nb_mail_file_has_head(mail)) {
        if (nb_mail_of_file(mail, &second, &again) != 0)
            abort();
        check(again.length == mail.length || second.length > 0);
    }
    nb_buffer_deinit(&out);
    nb_buffer_deinit(&second);
    return 0;
}
