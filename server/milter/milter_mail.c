/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_mail.h"

#include <assert.h>
#include <string.h>

void nb_milter_mail_reset(struct nb_milter_mail *mail)
{
    mail->sender[0] = mail->user[0] = mail->queue_id[0] = mail->recipient[0] = '\0';
    mail->recipient_count = 0;
    nb_buffer_deinit(&mail->recipients);
    nb_buffer_deinit(&mail->message); /* freed: most connections bring one mail only */
    nb_buffer_deinit(&mail->hidden);
    mail->header_size = mail->forged = mail->hidden_count = 0;
    mail->is_cut = mail->is_broken = mail->is_foul = mail->has_more = false;
}

/* ---- the envelope ---------------------------------------------------------------------------- */

void nb_milter_mail_set(char field[NB_MILTER_FIELD], const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    /* A name that is cut could be another valid name. */
    if (length >= NB_MILTER_FIELD)
        length = 0;
    for (size_t i = 0; i < length; i++)
        field[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7F ? '?' : text[i];
    field[length] = '\0';
}

/* Appends a header line, unless the value is empty. */
static int add_line(struct nb_buffer *out, const char *name, const char *value)
{
    int rc = value[0] != '\0' ? nb_buffer_printf(out, "%s: %s", name, value) : 0;
    if (rc == 0 && value[0] != '\0')
        rc = nb_buffer_append(out, "", 1);
    return rc;
}

void nb_milter_mail_recipient(struct nb_milter_mail *mail, const char *recipient)
{
    char text[NB_MILTER_FIELD];
    nb_milter_mail_set(text, recipient);
    if (mail->recipient_count++ == 0)
        memcpy(mail->recipient, text, sizeof text);
    bool fits = text[0] != '\0'; /* "": it was too long for `text` */
    if (fits && mail->recipients.length + strlen(text) < NB_MILTER_RECIPIENTS) {
        if (add_line(&mail->recipients, "Rcpt", text) != 0)
            mail->is_broken = true;
    } else {
        mail->has_more = true;
    }
}

int nb_milter_mail_lines(const struct nb_milter_mail *mail, struct nb_buffer *out)
{
    const struct {
        const char *name, *value;
    } LINES[] = {
        {"From", mail->sender},
        {"IP", mail->address},
        {"Helo", mail->helo},
        {"Hostname", mail->hostname},
        {"User", mail->user},
        {"Queue-Id", mail->queue_id},
        {"MTA-Name", mail->server},
        /* The model of one user must not decide for several: bayesd takes the mildest verdict of
         * all. */
        {"Deliver-To", mail->recipient_count == 1 ? mail->recipient : ""},
    };
    /* If only some recipients were sent, they would decide for the others. */
    size_t length = mail->has_more ? 0 : mail->recipients.length;
    int rc = nb_buffer_append(out, mail->recipients.bytes, length);
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0] && rc == 0; i++)
        rc = add_line(out, LINES[i].name, LINES[i].value);
    return rc;
}

/* ---- the message ----------------------------------------------------------------------------- */

static void add(struct nb_milter_mail *mail, const void *bytes, size_t length)
{
    assert(mail->message.length <= mail->most); /* a reload changes `most` between mails only */
    size_t room = mail->most - mail->message.length;
    if (length > room) {
        length = room;
        mail->is_cut = true;
    }
    if (nb_buffer_append(&mail->message, bytes, length) != 0)
        mail->is_broken = true;
}

static void add_text(struct nb_milter_mail *mail, const char *text)
{
    add(mail, text, strlen(text));
}

/* Whether a field has this name. Blanks may stand before the colon (RFC 5322, 4.5.8), and mail
 * servers find such a field by its name too. */
static bool is_name(const char *field, size_t length, const char *name)
{
    struct nb_string given = nb_string_trim_end((struct nb_string){field, length}, " \t");
    return nb_string_equals_nocase(given, name);
}

/* Counts the fields with this name in the first `length` bytes of the message, which belong to the
 * header. */
static size_t count_in(const struct nb_milter_mail *mail, size_t length, const char *name)
{
    assert(length <= mail->message.length);
    size_t count = 0;
    if (length == 0)
        return 0; /* there may be no buffer */
    const char *line = mail->message.bytes, *end = line + length;
    while (line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next + 1 : end;
        const char *colon = memchr(line, ':', (size_t)(next - line));
        count += colon != NULL && is_name(line, (size_t)(colon - line), name);
        line = next;
    }
    return count;
}

/* Whether a reader may begin a new field behind this byte of a value: a bare CR, or a line end that
 * is not a fold. */
static bool is_break(const char *at)
{
    if (*at == '\r')
        return at[1] != '\n';
    return *at == '\n' && at[1] != ' ' && at[1] != '\t';
}

/* Whether some readers find a field NB_MILTER_STATUS in the value. */
static bool hides_status(const char *value)
{
    for (const char *at = value; *(at += strcspn(at, "\r\n")) != '\0'; at++) {
        size_t length = strcspn(at + 1, ":\r\n");
        if (is_break(at) && at[1 + length] == ':' && is_name(at + 1, length, NB_MILTER_STATUS))
            return true;
    }
    return false;
}

/* Notes the cleaned form of the field; called before the field is added to the message. */
static void note_hidden(struct nb_milter_mail *mail, const char *name, const char *value)
{
    struct nb_buffer *out = &mail->hidden;
    if (mail->hidden_count == NB_MILTER_HIDDEN || mail->is_cut) {
        mail->is_foul = true;
        return;
    }
    mail->hidden_count++;
    size_t place = count_in(mail, mail->message.length, name) + 1;
    int rc = nb_buffer_append(out, name, strlen(name) + 1);
    if (rc == 0)
        rc = nb_buffer_printf(out, "%zu", place);
    if (rc == 0)
        rc = nb_buffer_append(out, "", 1);
    size_t start = out->length;
    if (rc == 0)
        rc = nb_buffer_append(out, value, strlen(value) + 1);
    if (rc != 0) {
        mail->is_broken = mail->is_foul = true;
        return;
    }
    for (char *at = out->bytes + start; *(at += strcspn(at, "\r\n")) != '\0'; at++)
        *at = is_break(at) ? ' ' : *at;
}

void nb_milter_mail_field(struct nb_milter_mail *mail, const char *name, const char *value)
{
    if (is_name(name, strlen(name), NB_MILTER_STATUS))
        mail->forged++;
    else if (hides_status(value))
        note_hidden(mail, name, value);
    add_text(mail, name);
    add_text(mail, ": ");
    for (size_t length; *value != '\0'; value += length) {
        length = strcspn(value, "\r\n");
        add(mail, value, length);
        if (value[length] == '\0')
            break;
        length += value[length] == '\r' && value[length + 1] == '\n' ? 2 : 1;
        /* A line end that is not followed by a blank would begin another field, or the body. */
        if (value[length] == ' ' || value[length] == '\t')
            add_text(mail, "\r\n");
    }
    add_text(mail, "\r\n");
}

void nb_milter_mail_header_end(struct nb_milter_mail *mail)
{
    mail->header_size = mail->message.length;
    add_text(mail, "\r\n");
}

bool nb_milter_mail_body(struct nb_milter_mail *mail, const void *bytes, size_t length)
{
    add(mail, bytes, length);
    return !mail->is_cut && !mail->is_broken;
}

size_t nb_milter_mail_count(const struct nb_milter_mail *mail, const char *name)
{
    return count_in(mail, mail->header_size, name);
}
