/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_leaf.h"

#include <stdint.h>
#include <string.h>

#include "core/base/error.h"
#include "tokenizer/formats/calendar.h"
#include "tokenizer/formats/enriched.h"
#include "tokenizer/formats/flowed.h"
#include "tokenizer/formats/rtf.h"
#include "tokenizer/html/html_text.h"
#include "tokenizer/mail/encoded_words.h"
#include "tokenizer/mail/mail_content.h"
#include "tokenizer/mail/mail_structure.h"
#include "tokenizer/text/text.h"

enum { ENCODED_BYTES = 3 /* most bytes that a transfer encoding takes for one byte */ };

void nb_mail_reader_deinit(struct nb_mail_reader *reader)
{
    nb_buffer_deinit(&reader->decoded);
    nb_buffer_deinit(&reader->utf8);
    nb_mail_charsets_deinit(&reader->charsets);
    nb_buffer_deinit(&reader->plain);
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

/* Removes the transfer encoding from the first `most` decoded bytes of a body, or from all of
 * it. */
static int decode(struct nb_mail_reader *reader, const struct nb_mail_type *type,
                  struct nb_string body, size_t most, struct nb_string *text)
{
    *text = body;
    text->length = body.length < most ? body.length : most;
    if (type->encoding == NB_MAIL_IDENTITY)
        return 0;
    reader->decoded.length = 0;
    text->length = nb_work_take(&reader->t->work, text->length, NB_WORK_DECODE);
    int rc = nb_mail_decode_body(type->encoding, *text, &reader->decoded);
    *text = nb_buffer_string(&reader->decoded);
    return rc;
}

/* Finds the content of a part whose type says that it has none, or only text: by its file name, and
 * if the type is vague by the beginning of its body. */
static int find_disguise(struct nb_mail_reader *reader, const struct nb_mail_type *type,
                         struct nb_string body, enum nb_mail_content *content)
{
    struct nb_string beginning;
    enum nb_mail_content named = nb_mail_content_of_name(type);
    if (named != NB_CONTENT_NONE && named != NB_CONTENT_MESSAGE)
        *content = named;
    if (*content != NB_CONTENT_NONE || !nb_mail_content_is_vague(type))
        return 0;
    int rc = decode(reader, type, body, (size_t)ENCODED_BYTES * NB_MAIL_SNIFFED_BYTES, &beginning);
    if (rc == 0)
        *content = nb_mail_content_sniff(beginning);
    return rc;
}

/* Cuts the text of a part whose type understates its content. */
static struct nb_string bound(struct nb_mail_reader *reader, struct nb_string text)
{
    if (text.length > NB_MAIL_DISGUISED_BYTES) {
        text.length = NB_MAIL_DISGUISED_BYTES;
        reader->t->bag->truncated = true;
    }
    return text;
}

/* Replaces *text by the text of a format, in the reader's other buffer. */
static int take_format(struct nb_mail_reader *reader, enum nb_mail_content content,
                       struct nb_string *text)
{
    int rc = 0;
    reader->plain.length = 0;
    text->length = nb_work_take(&reader->t->work, text->length, NB_WORK_DECODE);
    if (content == NB_CONTENT_CALENDAR)
        rc = nb_calendar_to_text(*text, &reader->plain);
    else if (content == NB_CONTENT_ENRICHED)
        rc = nb_enriched_to_text(*text, &reader->plain);
    else if (content == NB_CONTENT_RTF)
        rc = nb_rtf_to_text(&reader->charsets.state, *text, &reader->plain);
    else
        rc = nb_flowed_to_text(*text, &reader->plain);
    *text = nb_buffer_string(&reader->plain);
    return rc;
}

/* Counts a text, which is in the charset of its part. */
static int count_text(struct nb_mail_reader *reader, const struct nb_mail_type *type,
                      enum nb_mail_content content, struct nb_string text)
{
    int rc = 0;
    if (content == NB_CONTENT_CALENDAR) /* its lines are folded without regard to characters */
        rc = take_format(reader, content, &text);
    struct nb_string bytes = text;
    reader->utf8.length = 0;
    if (rc == 0 && content != NB_CONTENT_RTF) /* RTF names its charsets itself */
        rc = nb_mail_body_to_utf8(&reader->charsets, nb_string_of(type->charset),
                                  content == NB_CONTENT_HTML, &text, &reader->utf8);
    if (content == NB_CONTENT_PLAIN && text.bytes != bytes.bytes)
        content = nb_mail_content_of_type(type, text); /* UTF-16 had hidden its kind */
    bool is_flowed = content == NB_CONTENT_PLAIN && type->is_flowed;
    if (rc == 0 && (is_flowed || content == NB_CONTENT_ENRICHED || content == NB_CONTENT_RTF))
        rc = take_format(reader, content, &text);
    if (rc != 0 || text.length == 0)
        return rc;
    if (content == NB_CONTENT_HTML || content == NB_CONTENT_SVG)
        return html_part(reader, text);
    return nb_tokenize_text(reader->t, NB_FIELD_BODY, "", text.bytes, text.length);
}

int nb_mail_leaf(struct nb_mail_reader *reader, const struct nb_mail_type *type,
                 struct nb_string body)
{
    const struct nb_string nothing = {"", 0};
    enum nb_mail_content said = nb_mail_content_of_type(type, nothing);
    enum nb_mail_content content = said;
    struct nb_string text;
    int rc = 0;
    if (body.length == 0)
        return 0;
    if (said == NB_CONTENT_NONE || said == NB_CONTENT_PLAIN)
        rc = find_disguise(reader, type, body, &content);
    if (rc != 0 || content == NB_CONTENT_NONE)
        return rc;
    bool is_disguised = content != said;
    size_t most = is_disguised ? (size_t)ENCODED_BYTES * NB_MAIL_DISGUISED_BYTES : SIZE_MAX;
    rc = decode(reader, type, body, most, &text);
    if (rc == 0 && is_disguised) {
        text = bound(reader, text);
        rc = nb_mail_structure_read_as(reader->t, nb_mail_content_word(content));
    } else if (rc == 0) {
        content = nb_mail_content_of_type(type, text);
    }
    return rc == 0 ? count_text(reader, type, content, text) : rc;
}

int nb_mail_html(struct nb_tokenizing *t, struct nb_string html)
{
    struct nb_mail_reader reader = {.t = t};
    int rc = html.length == 0 ? 0 : html_part(&reader, html);
    nb_mail_reader_deinit(&reader);
    return rc;
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
