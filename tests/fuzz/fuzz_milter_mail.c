/* SPDX-License-Identifier: Apache-2.0
 *
 * Any texts as what a mail server hands over of a mail, in any order: they make a mail that is no
 * larger than it may be, and a request without a line too many. A step is a letter, a text, and a
 * NUL; a field of the header takes two texts.
 */
#include <stdint.h>
#include <string.h>

#include "server/milter/milter_mail.h"

enum { MAIL_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        __builtin_trap();
}

/* Takes the bytes up to the next NUL; the last ones, which have none, are dropped. */
static const char *take_text(struct nb_string *data)
{
    const char *text = data->bytes;
    const char *end = data->length > 0 ? memchr(text, '\0', data->length) : NULL;
    *data = nb_string_from(*data, end != NULL ? (size_t)(end - text) + 1 : data->length);
    return end != NULL ? text : "";
}

/* No control character gets into a line of the request. */
static void check_mail(const struct nb_milter_mail *mail)
{
    struct nb_buffer lines = {0};
    check(nb_milter_mail_lines(mail, &lines) == 0);
    for (size_t i = 0; i < lines.length; i++)
        check((unsigned char)lines.bytes[i] >= 0x20 || lines.bytes[i] == '\0');
    nb_buffer_deinit(&lines);
    check(mail->message.length <= MAIL_BYTES);
    check(mail->hidden_count <= NB_MILTER_HIDDEN);
    (void)nb_milter_mail_count(mail, NB_MILTER_STATUS);
}

static void take_step(struct nb_milter_mail *mail, char step, struct nb_string *data)
{
    const char *text = take_text(data);
    switch (step) {
    case 'C':
        nb_milter_mail_set(mail->hostname, text);
        break;
    case 'H':
        nb_milter_mail_set(mail->helo, text);
        break;
    case 'M':
        nb_milter_mail_reset(mail);
        nb_milter_mail_set(mail->sender, text);
        break;
    case 'R':
        nb_milter_mail_recipient(mail, text);
        break;
    case 'L':
        nb_milter_mail_field(mail, text, take_text(data));
        break;
    case 'N':
        nb_milter_mail_header_end(mail);
        break;
    case 'B':
        (void)nb_milter_mail_body(mail, text, strlen(text));
        break;
    default:
        check_mail(mail);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nb_milter_mail mail;
    struct nb_string rest = {(const char *)data, size};
    mail = (struct nb_milter_mail){.most = MAIL_BYTES};
    while (rest.length > 0) {
        char step = rest.bytes[0];
        rest = nb_string_from(rest, 1);
        take_step(&mail, step, &rest);
    }
    check_mail(&mail);
    nb_milter_mail_reset(&mail);
    return 0;
}
