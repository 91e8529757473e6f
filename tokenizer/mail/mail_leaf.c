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
    nb_charset_state_deinit(&reader->charset);
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_ascii(const char *bytes, size_t length)
{
    unsigned char all = 0;
    for (size_t i = 0; i < length; i++)
        all |= (unsigned char)(bytes[i] | (bytes[i] == 0x1b ? 0x80 : 0)); /* ESC begins ISO 2022 */
    return all < 0x80;
}

/* Charsets in which ASCII bytes are ASCII characters. */
static bool extends_ascii(const char *charset)
{
    static const char *const known[] = {"iso-8859", "windows-125", "utf-8", "koi8-",  "gb",
                                        "big5",     "euc-",        "cp125", "iso8859"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (has_prefix(charset, known[i]))
            return true;
    }
    return false;
}

static bool needs_conversion(const char *charset, struct nb_string bytes)
{
    if (*charset == '\0' || strcmp(charset, "us-ascii") == 0 || strcmp(charset, "utf-8") == 0)
        return false; /* the tokenizer reads both, and reads other bytes as windows-1252 */
    return !extends_ascii(charset) || !is_ascii(bytes.bytes, bytes.length);
}

/* Converts *text to UTF-8, into the reader's buffer, if it is not UTF-8 already. With a charset
 * that is not known, the bytes stay as they are. */
static int to_utf8(struct nb_mail_reader *reader, const char *charset, struct nb_string *text)
{
    if (!needs_conversion(charset, *text))
        return 0;
    reader->utf8.length = 0;
    struct nb_string name = {charset, strlen(charset)};
    size_t most = 4 * text->length + 16;
    int rc = nb_charset_to_utf8(&reader->charset, name, text->bytes, text->length, most,
                                &reader->utf8, NULL);
    if (rc == NB_NO_MEMORY)
        return rc;
    if (rc == 0)
        *text = (struct nb_string){reader->utf8.bytes, reader->utf8.length};
    return 0;
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
    if (rc == 0)
        rc = to_utf8(reader, type->charset, &text);
    if (rc != 0 || text.length == 0)
        return rc;
    if (is_html(type->media, text))
        return html_part(reader, text);
    return nb_tokenize_text(reader->t, NB_FIELD_BODY, "", text.bytes, text.length);
}

int nb_mail_subject(struct nb_mail_reader *reader, struct nb_string value)
{
    reader->utf8.length = 0;
    int rc = nb_mail_decode_words(&reader->charset, value, &reader->utf8);
    if (rc != 0)
        return rc;
    return nb_tokenize_text(reader->t, NB_FIELD_SUBJECT, "subject:", reader->utf8.bytes,
                            reader->utf8.length);
}
