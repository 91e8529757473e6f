/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_mail.h"

#include <string.h>

#include "config/config.h"
#include "core/base/lines.h"
#include "tokenizer/mail/mime.h"

/* Takes a line that begins with `prefix`, in any case, off the beginning of the text. */
static bool takes(struct nb_string *text, const char *prefix)
{
    if (!nb_string_starts_nocase(*text, prefix))
        return false;
    const char *next = nb_lines_next(text->bytes, text->bytes + text->length);
    *text = nb_string_from(*text, (size_t)(next - text->bytes));
    return true;
}

struct nb_string nb_filter_mail(struct nb_string body)
{
    struct nb_string mail = body;
    if (!takes(&mail, "From "))
        return body;
    (void)takes(&mail, "X-Envelope-From:"); /* if they are there */
    (void)takes(&mail, "X-Envelope-To:");
    return mail;
}

void nb_filter_copy_clean(struct nb_string from, char *to, size_t room)
{
    size_t length = 0;
    for (size_t i = 0; i < from.length && length + 1 < room; i++) {
        unsigned char c = (unsigned char)from.bytes[i];
        if (c == '\r' || c == '\n')
            continue; /* folded: what follows begins with a blank (RFC 5322, 2.2.3) */
        to[length++] = (char)(c < 0x20 || c == 0x7f ? ' ' : c);
    }
    to[length] = '\0';
}

struct nb_string nb_filter_without_angles(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    return s;
}

/* The first field of a name; of length 0 when there is none. */
static struct nb_string find_field(const struct nb_config *config, struct nb_string mail,
                                   const char *wanted)
{
    return nb_mime_find_field(mail, (size_t)config->header_bytes, wanted);
}

void nb_filter_message_id(const struct nb_config *config, struct nb_string mail,
                          char message_id[NB_FILTER_FIELD])
{
    nb_filter_copy_clean(nb_filter_without_angles(find_field(config, mail, "Message-ID")),
                         message_id, NB_FILTER_FIELD);
}

void nb_filter_rewrite_subject(const struct nb_config *config, struct nb_string mail,
                               char subject[NB_FILTER_FIELD])
{
    const char *format = config->filter_subject;
    struct nb_string own = find_field(config, mail, "Subject");
    const char *place = strstr(format, "%s");
    size_t before = place != NULL ? (size_t)(place - format) : strlen(format);
    const struct nb_string parts[] = {
        {format, before},
        place != NULL ? nb_string_trim(own) : (struct nb_string){"", 0},
        {place != NULL ? place + 2 : "", place != NULL ? strlen(place + 2) : 0}};
    size_t length = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        nb_filter_copy_clean(parts[i], subject + length, NB_FILTER_FIELD - length);
        length += strlen(subject + length);
    }
}
