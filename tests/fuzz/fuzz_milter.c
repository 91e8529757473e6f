/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as what a mail server sends: told whole from incomplete the same way however they are
 * cut; what is accepted has the form that libmilter relies on, and makes a mail without a line too
 * many.
 */
#include <stdint.h>
#include <string.h>

#include "server/milter/milter_mail.h"
#include "server/milter/packet.h"

enum { MAIL_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        __builtin_trap();
}

/* The next text of those that end in a NUL each. */
static const char *take_text(struct nb_string *data)
{
    const char *end = data->length > 0 ? memchr(data->bytes, '\0', data->length) : NULL;
    check(end != NULL);
    const char *text = data->bytes;
    *data = nb_string_from(*data, (size_t)(end - text) + 1);
    return text;
}

/* As smfi_getsymval(3) walks through macros: in pairs, until nothing is left. */
static void take_macros(struct nb_milter_mail *mail, struct nb_string data)
{
    check(data.length > 0);
    for (data = nb_string_from(data, 1); data.length > 0;) {
        const char *name = take_text(&data), *value = take_text(&data);
        if (strcmp(name, "i") == 0)
            nb_milter_mail_set(mail->queue_id, value);
        if (strcmp(name, "{auth_authen}") == 0)
            nb_milter_mail_set(mail->user, value);
    }
}

static void take_client(struct nb_milter_mail *mail, struct nb_string data)
{
    nb_milter_mail_set(mail->hostname, take_text(&data));
    check(data.length > 0);
    if (data.bytes[0] == 'U')
        return;
    check(data.length > 3);
    data = nb_string_from(data, 3);
    nb_milter_mail_set(mail->address, take_text(&data));
}

/* No control character gets into a line of the request. */
static void check_lines(const struct nb_milter_mail *mail)
{
    struct nb_buffer lines = {0};
    check(nb_milter_mail_lines(mail, &lines) == 0);
    for (size_t i = 0; i < lines.length; i++)
        check((unsigned char)lines.bytes[i] >= 0x20 || lines.bytes[i] == '\0');
    nb_buffer_deinit(&lines);
    check(mail->message.length <= MAIL_BYTES);
    (void)nb_milter_mail_count(mail, "X-Bayes-Status");
}

static void take_packet(struct nb_milter_mail *mail, struct nb_string packet)
{
    struct nb_string data = nb_string_from(packet, NB_PACKET_HEAD + 1);
    switch (packet.bytes[NB_PACKET_HEAD]) {
    case 'D':
        take_macros(mail, data);
        break;
    case 'C':
        take_client(mail, data);
        break;
    case 'H':
        nb_milter_mail_set(mail->helo, take_text(&data));
        break;
    case 'M':
        nb_milter_mail_reset(mail);
        nb_milter_mail_set(mail->sender, take_text(&data));
        break;
    case 'R':
        nb_milter_mail_recipient(mail, take_text(&data));
        break;
    case 'L': {
        const char *name = take_text(&data);
        nb_milter_mail_field(mail, name, take_text(&data));
        break;
    }
    case 'N':
        nb_milter_mail_header_end(mail);
        break;
    case 'B':
        (void)nb_milter_mail_body(mail, data.bytes, data.length);
        break;
    case 'E':
        check_lines(mail);
        nb_milter_mail_reset(mail);
        break;
    default:
        break;
    }
}

/* However few bytes have come, the answer is "more" until it is the final one. */
static int check_cuts(struct nb_string bytes, size_t *size)
{
    struct nb_error error = {0};
    int rc = nb_packet_check(bytes, size, &error);
    size_t most = rc == 0 ? *size : bytes.length, cut = 0;
    for (size_t i = 0; i < most && i < 64; i++) {
        int before = nb_packet_check((struct nb_string){bytes.bytes, i}, &cut, &error);
        check(before == NB_PACKET_MORE || (rc != 0 && before == rc));
    }
    check(rc != 0 || (*size > NB_PACKET_HEAD && *size <= bytes.length &&
                      *size <= NB_PACKET_HEAD + NB_PACKET_MOST));
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nb_milter_mail mail;
    struct nb_string rest = {(const char *)data, size};
    size_t taken;
    mail = (struct nb_milter_mail){.most = MAIL_BYTES};
    while (check_cuts(rest, &taken) == 0) {
        take_packet(&mail, (struct nb_string){rest.bytes, taken});
        rest = nb_string_from(rest, taken);
    }
    nb_milter_mail_reset(&mail);
    return 0;
}
