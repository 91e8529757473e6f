/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/mail_look.h"

#include <string.h>

#include "tokenizer/mail/mail_file.h"

bool nb_looks_like_mail(const char *bytes, size_t length)
{
    struct nb_buffer scratch = {0};
    struct nb_string mail;
    bool looks = nb_mail_of_file((struct nb_string){bytes, length}, &scratch, &mail) == 0 &&
                 nb_mail_file_has_head(mail);
    nb_buffer_deinit(&scratch);
    return looks;
}

/* Returns whether the byte is a control character, but neither white space nor backspace nor a
 * shift or escape of ISO 2022. */
static bool is_stray(unsigned char byte)
{
    return byte < '\b' || (byte > 0x0f && byte < ' ' && byte != 0x1b) || byte == 0x7f;
}

bool nb_looks_binary(const char *bytes, size_t length)
{
    size_t stray = 0;
    for (size_t i = 0; i < length; i++)
        stray += is_stray((unsigned char)bytes[i]);
    return stray > length / 16;
}
