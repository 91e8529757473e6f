/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_identity.h"

#include <assert.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/mail_content.h"
#include "tokenizer/mail_decode.h"
#include "tokenizer/mime.h"

/* Values of `kind` for nb_key_content_id. Documents use 0 to 2 (core/writer/submit.c). */
enum { KIND_IDENTITY = 3, KIND_PART = 4 };

struct identity {
    const struct nb_key *key;
    struct nb_packer content; /* the bytes that the id hashes, each item with its length */
    struct nb_buffer packed;
    struct nb_buffer decoded; /* a decoded part */
    struct nb_buffer text;    /* a part or a field's value in normal form */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* ---- header fields --------------------------------------------------------------------------- */

static bool is_sign(char c)
{
    return !nb_ascii_is_alphanumeric(c) && (c & 0x80) == 0;
}

/* Returns the length of a spam filter's mark at the beginning of a Subject; 0 if there is none. A
 * mark has at most MARK_MOST bytes: "spam" with a sign on both sides, among other signs and blanks.
 * `has_sign`: another mark has stood before this text, and ended with a sign. */
static size_t mark_length(struct nb_string subject, bool has_sign)
{
    enum { MARK_MOST = 40, WORD = 4 };
    size_t most = subject.length < MARK_MOST ? subject.length : MARK_MOST;
    size_t at = 0;
    while (at < most && is_sign(subject.bytes[at]))
        at++;
    if ((at == 0 && !has_sign) || most - at <= WORD)
        return 0;
    struct nb_string word = {subject.bytes + at, WORD};
    size_t end = at + WORD;
    if (!nb_string_equals_nocase(word, "spam") || is_blank(subject.bytes[end]))
        return 0;
    size_t behind = end;
    while (end < most && is_sign(subject.bytes[end]) && subject.bytes[end] != '=')
        end++; /* "=?" begins an encoded word (RFC 2047) */
    return end > behind ? end : 0;
}

/* Returns a Subject without the marks in front of it. */
static struct nb_string without_marks(struct nb_string subject)
{
    bool has_sign = false;
    for (size_t mark; (mark = mark_length(subject, has_sign)) > 0;) {
        has_sign = !is_blank(subject.bytes[mark - 1]);
        subject = (struct nb_string){subject.bytes + mark, subject.length - mark};
    }
    return subject;
}

/* Writes a value unfolded, with each run of blanks as one blank. */
static int write_value(struct nb_buffer *out, struct nb_string value)
{
    bool waits = false; /* a blank is pending; it is written if more text follows */
    out->length = 0;
    if (nb_buffer_reserve(out, value.length) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < value.length; i++) {
        if (is_blank(value.bytes[i])) {
            waits = out->length > 0;
            continue;
        }
        if (waits)
            out->bytes[out->length++] = ' ';
        waits = false;
        out->bytes[out->length++] = value.bytes[i];
    }
    assert(out->length <= value.length);
    return 0;
}

/* Packs the first field of each name that the identity covers; a missing field is an empty text. */
static int add_fields(struct identity *m, struct nb_string head)
{
    enum { SUBJECT, MESSAGE_ID, FROM, DATE, FIELDS };
    static const char *const names[FIELDS] = {"Subject", "Message-ID", "From", "Date"};
    struct nb_string values[FIELDS] = {{0}};
    struct nb_string name;
    struct nb_string value;
    while (nb_mime_field(&head, &name, &value))
        for (size_t i = 0; i < FIELDS; i++)
            if (values[i].bytes == NULL && nb_string_equals_nocase(name, names[i]))
                values[i] = value;
    for (size_t i = 0; i < FIELDS; i++) {
        int rc = write_value(&m->text, values[i]);
        if (rc != 0)
            return rc;
        struct nb_string text = nb_buffer_string(&m->text);
        nb_pack_string(&m->content, i == SUBJECT ? without_marks(text) : text);
    }
    return m->content.code;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Returns the first byte of the line at `line` that counts: the byte after ">" before "From ". */
static const char *behind_quotes(const char *line, const char *end)
{
    const char *at = line;
    while (at < end && *at == '>')
        at++;
    return nb_lines_is_separator(at, end) ? at : line;
}

/* Writes the lines without blanks at their ends and without empty lines at the end of the text. */
static int write_lines(struct nb_buffer *out, struct nb_string body)
{
    const char *end = body.bytes + body.length;
    size_t length = 0; /* length of the text up to its last line that is not empty */
    out->length = 0;
    int rc = nb_buffer_reserve(out, body.length + 1);
    for (const char *line = body.bytes, *next; rc == 0 && line < end; line = next) {
        next = nb_lines_next(line, end);
        const char *from = *line == '>' ? behind_quotes(line, next) : line;
        const char *to = next;
        while (to > from && is_blank(to[-1]))
            to--;
        rc = nb_buffer_append(out, from, (size_t)(to - from));
        if (rc == 0)
            rc = nb_buffer_append(out, "\n", 1);
        if (to > from)
            length = out->length;
    }
    out->length = rc == 0 ? length : out->length;
    return rc;
}

/* Packs the id of a part's text. A part without text is left out. */
static int add_part(struct identity *m, enum nb_mail_encoding encoding, struct nb_string body)
{
    char id[NB_CONTENT_ID_LENGTH + 1];
    int rc = 0;
    if (encoding != NB_MAIL_IDENTITY) {
        m->decoded.length = 0;
        rc = nb_mail_decode_body(encoding, body, &m->decoded);
        body = nb_buffer_string(&m->decoded);
    }
    if (rc == 0)
        rc = write_lines(&m->text, body);
    if (rc != 0 || m->text.length == 0)
        return rc;
    nb_key_content_id(m->key, KIND_PART, m->text.bytes, m->text.length, id);
    nb_pack_string(&m->content, (struct nb_string){id, NB_CONTENT_ID_LENGTH});
    return m->content.code;
}

/* Reads the fields of a part's header about its content, as far as they matter here. */
static struct nb_mail_type type_of(struct nb_string head)
{
    struct nb_mail_type type = {.encoding = NB_MAIL_IDENTITY};
    struct nb_string name;
    struct nb_string value;
    while (nb_mime_field(&head, &name, &value)) {
        if (nb_string_equals_nocase(name, "Content-Type") && type.media[0] == '\0') {
            if (!nb_mail_plain_type(&type, value))
                nb_mail_read_type(&type, value);
        } else if (nb_string_equals_nocase(name, "Content-Transfer-Encoding") &&
                   type.transfer[0] == '\0')
            nb_mail_read_encoding(&type, value);
    }
    return type;
}

/* Takes the body of the part whose header was `head`. Skips the text between and after parts. Sets
 * *more if another part follows. */
static int take_part(struct identity *m, struct nb_mime_scanner *scanner, struct nb_string head,
                     bool *more)
{
    struct nb_mail_type type = type_of(head);
    struct nb_string boundary = {type.boundary, strlen(type.boundary)};
    struct nb_string body;
    struct nb_string tail;
    size_t level = scanner->open;
    bool opened = strncmp(type.media, "multipart/", strlen("multipart/")) == 0 &&
                  nb_mime_open(scanner, boundary, 0);
    enum nb_mime_next next = nb_mime_body(scanner, &body);
    bool is_preamble = opened && next == NB_MIME_PART && scanner->open == level + 1;
    int rc = is_preamble ? 0 : add_part(m, type.encoding, body);
    while (next == NB_MIME_TAIL)
        next = nb_mime_body(scanner, &tail);
    *more = next == NB_MIME_PART;
    return rc;
}

static int add_parts(struct identity *m, struct nb_mime_scanner *scanner, struct nb_string head)
{
    bool more = true;
    int rc = take_part(m, scanner, head, &more);
    for (size_t parts = 1; rc == 0 && more && parts < NB_MAIL_IDENTITY_PARTS; parts++) {
        head = nb_mime_head(scanner);
        rc = take_part(m, scanner, head, &more);
    }
    struct nb_string rest = {scanner->at, (size_t)(scanner->end - scanner->at)};
    return rc == 0 && more ? add_part(m, NB_MAIL_IDENTITY, rest) : rc;
}

int nb_mail_identity(const struct nb_key *key, struct nb_string mail,
                     char id[NB_CONTENT_ID_LENGTH + 1])
{
    struct nb_mime_scanner scanner;
    struct identity m = {.key = key};
    assert(mail.bytes != NULL || mail.length == 0);
    m.content.out = &m.packed;
    size_t from = nb_lines_separator(mail);
    nb_mime_scan(&scanner, mail.bytes + from, mail.length - from);
    struct nb_string head = nb_mime_head(&scanner);
    int rc = add_fields(&m, head);
    if (rc == 0)
        rc = add_parts(&m, &scanner, head);
    if (rc == 0)
        nb_key_content_id(key, KIND_IDENTITY, m.packed.bytes, m.packed.length, id);
    nb_buffer_deinit(&m.packed);
    nb_buffer_deinit(&m.decoded);
    nb_buffer_deinit(&m.text);
    return rc;
}
