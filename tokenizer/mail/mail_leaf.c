/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_leaf.h"

#include <string.h>

#include "core/base/error.h"
#include "tokenizer/html/html_text.h"
#include "tokenizer/mail/encoded_words.h"
#include "tokenizer/mail/mail_structure.h"
#include "tokenizer/text/text.h"

void nb_mail_reader_deinit(struct nb_mail_reader *reader)
{
    nb_buffer_deinit(&reader->decoded);
    nb_buffer_deinit(&reader->utf8);
    nb_mail_charsets_deinit(&reader->charsets);
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int element(void *user, const struct nb_html_token *start_tag)
{
    struct nb_mail_reader *reader = user;
    return nb_mail_structure_element(reader->t, start_tag);
}

static int html_part(struct nb_mail_reader *reader, struct nb_string html)
{
    struct nb_html_text text = {0};
    const struct nb_html_observer observer = {.element = element, .user = reader};
    html.length = nb_work_take(&reader->t->work, html.length, NB_WORK_HTML);
    bool observe = nb_tokenizing_wants(reader->t, NB_FIELD_STRUCTURE) ||
                   nb_tokenizing_wants(reader->t, NB_FIELD_URL);
    int rc = nb_html_to_text(html.bytes, html.length, observe ? &observer : NULL, &text);
    if (rc == 0)
        rc =
            nb_tokenize_text(reader->t, NB_FIELD_BODY, "", text.visible.bytes, text.visible.length);
    if (rc == 0 && text.hidden.length > 0)
        rc = nb_tokenize_text(reader->t, NB_FIELD_HIDDEN, "hidden:", text.hidden.bytes,
                              text.hidden.length);
    if (rc == 0 && text.hidden.length > 0)
        rc = nb_mail_structure_hidden(reader->t);
    nb_html_text_deinit(&text);
    return rc;
}

static bool is_text(const char *media)
{
    return *media == '\0' || has_prefix(media, "text/") || has_prefix(media, "message/") ||
           has_prefix(media, "multipart/") || strcmp(media, "application/xhtml+xml") == 0;
}

static bool is_html(const char *media, struct nb_string text)
{
    return strcmp(media, "text/html") == 0 || strcmp(media, "application/xhtml+xml") == 0 ||
           nb_html_sniff(text.bytes, text.length);
}

int nb_mail_leaf(struct nb_mail_reader *reader, const struct nb_mail_type *type,
                 struct nb_string body)
{
    if (!is_text(type->media) || body.length == 0)
        return 0;
    struct nb_string text = body;
    int rc = 0;
    if (type->encoding != NB_MAIL_IDENTITY) {
        reader->decoded.length = 0;
        body.length = nb_work_take(&reader->t->work, body.length, NB_WORK_DECODE);
        rc = nb_mail_decode_body(type->encoding, body, &reader->decoded);
        text = (struct nb_string){reader->decoded.bytes, reader->decoded.length};
    }
    struct nb_string bytes = text;
    bool html = is_html(type->media, text);
    reader->utf8.length = 0;
    if (rc == 0)
        rc = nb_mail_body_to_utf8(&reader->charsets, nb_string_of(type->charset), html, &text,
                                  &reader->utf8);
    if (rc != 0 || text.length == 0)
        return rc;
    if (text.bytes != bytes.bytes)
        html = is_html(type->media, text); /* UTF-16 hides what it is */
    if (html)
        return html_part(reader, text);
    return nb_tokenize_text(reader->t, NB_FIELD_BODY, "", text.bytes, text.length);
}

int nb_mail_subject(struct nb_mail_reader *reader, struct nb_string value)
{
    reader->utf8.length = 0;
    int rc = nb_mail_decode_words(&reader->charsets, value, &reader->utf8);
    if (rc != 0)
        return rc;
    return nb_tokenize_text(reader->t, NB_FIELD_SUBJECT, "subject:", reader->utf8.bytes,
                            reader->utf8.length);
}
