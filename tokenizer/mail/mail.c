/* SPDX-License-Identifier: Apache-2.0
 *
 * The way through a mail, part by part. Parts and nested messages are walked in a loop, not by
 * recursion; only a multipart or a message that is itself encoded (against RFC 2046, but readers
 * open it) is walked by a call of its own, at most ENCODED_DEPTH of them in one another, so that no
 * byte is decoded more often than that.
 *
 * Of a mail over limits->mail_bytes the first three quarters of that are read and, as if nothing
 * were between, the rest from the end: spam hides in the middle of nothing, and a list's footer or
 * the last part's text stands at the end.
 */
#include "tokenizer/mail/mail.h"

#include <string.h>

#include "core/base/error.h"
#include "tokenizer/html/html_text.h"
#include "tokenizer/mail/mail_decode.h"
#include "tokenizer/mail/mail_header.h"
#include "tokenizer/mail/mail_structure.h"
#include "tokenizer/mail/mime.h"
#include "tokenizer/text/charset.h"
#include "tokenizer/text/text.h"

enum { ENCODED_DEPTH = 4, LINE_SEARCH = 1000 };

struct walk {
    struct nb_tokenizing *t;
    size_t parts_left;
    size_t header_left;
    bool truncated;           /* a limit was hit */
    bool wants_header;        /* any field that is made of header fields, apart from the Subject */
    struct nb_buffer decoded; /* the body at hand without its transfer encoding */
    struct nb_buffer utf8;    /* and in UTF-8; or a header field's value */
};

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_ascii(const char *bytes, size_t length)
{
    unsigned char all = 0;
    for (size_t i = 0; i < length; i++)
        all |= (unsigned char)(bytes[i] | (bytes[i] == 0x1b ? 0x80 : 0)); /* ESC: ISO 2022 */
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
        return false; /* and what is neither is read as windows-1252 by the tokenizer */
    return !extends_ascii(charset) || !is_ascii(bytes.bytes, bytes.length);
}

/* Brings *text to UTF-8, in the walk's buffer if it is not already. A charset that nobody knows
 * leaves the bytes as they are. */
static int to_utf8(struct walk *walk, const char *charset, struct nb_string *text)
{
    if (!needs_conversion(charset, *text))
        return 0;
    walk->utf8.length = 0;
    struct nb_string name = {charset, strlen(charset)};
    size_t most = 4 * text->length + 16;
    int rc = nb_charset_to_utf8(name, text->bytes, text->length, most, &walk->utf8, NULL);
    if (rc == NB_NO_MEMORY)
        return rc;
    if (rc == 0)
        *text = (struct nb_string){walk->utf8.bytes, walk->utf8.length};
    return 0;
}

static int element(void *user, const struct nb_html_token *start_tag)
{
    struct walk *walk = user;
    return nb_mail_structure_element(walk->t, start_tag);
}

static int html_part(struct walk *walk, struct nb_string html)
{
    struct nb_html_text text = {0};
    const struct nb_html_observer observer = {.element = element, .user = walk};
    bool observe = nb_tokenizing_wants(walk->t, NB_FIELD_STRUCTURE) ||
                   nb_tokenizing_wants(walk->t, NB_FIELD_URL);
    int rc = nb_html_to_text(html.bytes, html.length, observe ? &observer : NULL, &text);
    if (rc == 0)
        rc = nb_tokenize_text(walk->t, NB_FIELD_BODY, "", text.visible.bytes, text.visible.length);
    if (rc == 0 && text.hidden.length > 0)
        rc = nb_tokenize_text(walk->t, NB_FIELD_HIDDEN, "hidden:", text.hidden.bytes,
                              text.hidden.length);
    if (rc == 0 && text.hidden.length > 0)
        rc = nb_mail_structure_hidden(walk->t);
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

/* A part that holds no other parts. */
static int leaf(struct walk *walk, const struct nb_mail_type *type, struct nb_string body)
{
    if (!is_text(type->media) || body.length == 0)
        return 0;
    struct nb_string text = body;
    int rc = 0;
    if (type->encoding != NB_MAIL_IDENTITY) {
        walk->decoded.length = 0;
        rc = nb_mail_decode_body(type->encoding, body, &walk->decoded);
        text = (struct nb_string){walk->decoded.bytes, walk->decoded.length};
    }
    if (rc == 0)
        rc = to_utf8(walk, type->charset, &text);
    if (rc != 0 || text.length == 0)
        return rc;
    if (is_html(type->media, text))
        return html_part(walk, text);
    return nb_tokenize_text(walk->t, NB_FIELD_BODY, "", text.bytes, text.length);
}

static int subject(struct walk *walk, struct nb_string value)
{
    walk->utf8.length = 0;
    int rc = nb_mail_decode_words(value, &walk->utf8);
    if (rc != 0)
        return rc;
    return nb_tokenize_text(walk->t, NB_FIELD_SUBJECT, "subject:", walk->utf8.bytes,
                            walk->utf8.length);
}

/* Of fields that are there twice the first counts, as for most readers. */
static void content_field(struct nb_mail_type *type, struct nb_string name, struct nb_string value)
{
    if (nb_string_equals_nocase(name, "Content-Type") && type->media[0] == '\0')
        nb_mail_read_type(type, value);
    else if (nb_string_equals_nocase(name, "Content-Disposition"))
        nb_mail_read_disposition(type, value);
    else if (nb_string_equals_nocase(name, "Content-Transfer-Encoding") &&
             type->transfer[0] == '\0')
        nb_mail_read_encoding(type, value);
}

enum kind { PART, NESTED_MESSAGE, MAIL };

/* Reads the header of a part, of a message its Subject, of the mail itself the other fields too,
 * within the limit on headers. */
static int read_head(struct walk *walk, struct nb_string head, enum kind kind,
                     struct nb_mail_type *type)
{
    struct nb_string name;
    struct nb_string value;
    int rc = 0;
    if (head.length > walk->header_left) {
        head.length = walk->header_left;
        walk->truncated = true;
    }
    walk->header_left -= head.length;
    while (rc == 0 && nb_mime_field(&head, &name, &value)) {
        content_field(type, name, value);
        if (kind != PART && nb_string_equals_nocase(name, "Subject"))
            rc = subject(walk, value);
        if (rc == 0 && kind == MAIL && walk->wants_header)
            rc = nb_mail_header(walk->t, name, value, &walk->utf8);
    }
    return rc != 0 ? rc : nb_mail_structure_part(walk->t, type);
}

/* Where the walk is: the parts of one run of bytes. */
struct place {
    struct nb_mime_scanner scanner;
    enum nb_mime_next next;
    size_t depth;   /* multiparts and messages around the part at hand */
    size_t encoded; /* of those, how many were encoded as a whole */
    enum kind kind; /* whose header is at hand */
    bool digest;    /* a part without a type is a message (RFC 2046, 5.1.5) */
    bool nested;    /* the part at hand was a message, whose own header is what comes next */
};

static int walk_bytes(struct walk *walk, struct nb_string bytes, const struct nb_mail_type *type,
                      size_t depth, size_t encoded);

/* A multipart or a message whose bytes are encoded as a whole. */
static int encoded_entity(struct walk *walk, const struct place *place,
                          const struct nb_mail_type *type, struct nb_string body)
{
    if (place->encoded == ENCODED_DEPTH) {
        walk->truncated = true;
        return 0;
    }
    struct nb_buffer bytes = {0};
    int rc = nb_mail_decode_body(type->encoding, body, &bytes);
    if (rc == 0)
        rc = walk_bytes(walk, (struct nb_string){bytes.bytes, bytes.length}, type, place->depth,
                        place->encoded + 1);
    nb_buffer_deinit(&bytes);
    return rc;
}

/* Leaves out a part that is nested too deep. */
static void skip_body(struct walk *walk, struct place *place)
{
    struct nb_string body;
    walk->truncated = true;
    place->next = nb_mime_body(&place->scanner, &body);
}

static int multipart(struct walk *walk, struct place *place, const struct nb_mail_type *type)
{
    struct nb_string boundary = {type->boundary, strlen(type->boundary)};
    struct nb_string body;
    size_t level = place->scanner.open;
    if (place->depth >= walk->t->limits->mail_depth) {
        skip_body(walk, place);
        return 0;
    }
    bool opened = nb_mime_open(&place->scanner, boundary, place->depth + 1);
    if (opened)
        nb_mime_innermost(&place->scanner)->digest = strcmp(type->media, "multipart/digest") == 0;
    place->next = nb_mime_body(&place->scanner, &body);
    if (opened && place->next == NB_MIME_PART && place->scanner.open == level + 1)
        return 0; /* `body` was what stands before the first part, for readers of long ago */
    /* Its boundary is nowhere: it is encoded as a whole, or else it is text. */
    if (opened && type->encoding != NB_MAIL_IDENTITY)
        return encoded_entity(walk, place, type, body);
    return leaf(walk, type, body);
}

static bool is_message(const char *media)
{
    return strcmp(media, "message/rfc822") == 0 || strcmp(media, "message/global") == 0 ||
           strcmp(media, "message/news") == 0;
}

static int nested_message(struct walk *walk, struct place *place, const struct nb_mail_type *type)
{
    struct nb_string body;
    if (place->depth >= walk->t->limits->mail_depth) {
        skip_body(walk, place);
        return 0;
    }
    place->depth++;
    if (type->encoding == NB_MAIL_IDENTITY) {
        place->kind = NESTED_MESSAGE;
        place->digest = false;
        place->nested = true;
        return 0;
    }
    place->next = nb_mime_body(&place->scanner, &body);
    return encoded_entity(walk, place, type, body);
}

/* The part whose header is at hand. */
static int part(struct walk *walk, struct place *place)
{
    struct nb_mail_type type = {.encoding = NB_MAIL_IDENTITY};
    struct nb_string head = nb_mime_head(&place->scanner);
    struct nb_string body;
    int rc = read_head(walk, head, place->kind, &type);
    if (rc != 0)
        return rc;
    if (has_prefix(type.media, "multipart/"))
        return multipart(walk, place, &type);
    if (is_message(type.media) || (place->digest && type.media[0] == '\0'))
        return nested_message(walk, place, &type);
    place->next = nb_mime_body(&place->scanner, &body);
    return leaf(walk, &type, body);
}

/* Goes to the part that follows the boundary just read. */
static void enter_part(struct place *place)
{
    const struct nb_mime_level *level = nb_mime_innermost(&place->scanner);
    place->kind = PART;
    place->digest = level != NULL && level->digest;
    place->depth = level != NULL ? level->depth : 0;
}

/* Takes the part at hand and goes to what follows. */
static int step(struct walk *walk, struct place *place)
{
    struct nb_string between;
    int rc = 0;
    if (place->next == NB_MIME_TAIL) {
        place->next = nb_mime_body(&place->scanner, &between);
    } else if (walk->parts_left == 0) {
        walk->truncated = true;
        place->next = NB_MIME_END;
    } else {
        walk->parts_left--;
        place->nested = false;
        rc = part(walk, place);
    }
    if (place->next == NB_MIME_PART && !place->nested)
        enter_part(place);
    return rc;
}

/* Walks the bytes of a message or, with `type`, those of a multipart or message that was decoded.
 */
static int walk_bytes(struct walk *walk, struct nb_string bytes, const struct nb_mail_type *type,
                      size_t depth, size_t encoded)
{
    struct place place = {.next = NB_MIME_PART,
                          .depth = depth,
                          .encoded = encoded,
                          .kind = encoded == 0 ? MAIL : NESTED_MESSAGE};
    int rc = 0;
    nb_mime_scan(&place.scanner, bytes.bytes, bytes.length);
    if (type != NULL && !is_message(type->media)) {
        struct nb_mail_type decoded = *type;
        decoded.encoding = NB_MAIL_IDENTITY;
        rc = multipart(walk, &place, &decoded);
        if (rc == 0 && place.next == NB_MIME_PART)
            enter_part(&place);
    }
    while (rc == 0 && place.next != NB_MIME_END)
        rc = step(walk, &place);
    return rc;
}

/* Joins the head and the tail of a mail that is too long, both cut at line ends where there are any
 * (base64 goes on unharmed then). */
static int shorten(const char *bytes, size_t length, size_t most, struct nb_buffer *out)
{
    size_t head = most - most / 4;
    size_t tail = length - most / 4;
    size_t window = head < LINE_SEARCH ? head : LINE_SEARCH;
    const char *newline = memrchr(bytes + head - window, '\n', window);
    if (newline != NULL)
        head = (size_t)(newline - bytes) + 1;
    window = length - tail < LINE_SEARCH ? length - tail : LINE_SEARCH;
    newline = memchr(bytes + tail, '\n', window);
    if (newline != NULL)
        tail = (size_t)(newline - bytes) + 1;
    int rc = nb_buffer_append(out, bytes, head);
    if (rc == 0 && head > 0 && bytes[head - 1] != '\n')
        rc = nb_buffer_append(out, "\n", 1);
    return rc != 0 ? rc : nb_buffer_append(out, bytes + tail, length - tail);
}

int nb_tokenize_mail(struct nb_tokenizing *t, const char *bytes, size_t length)
{
    const struct nb_tokenizer_limits *limits = t->limits;
    struct walk walk = {.t = t,
                        .parts_left = limits->mail_parts,
                        .header_left = limits->header_bytes,
                        .wants_header = nb_tokenizing_wants(t, NB_FIELD_ADDRESS) ||
                                        nb_tokenizing_wants(t, NB_FIELD_RECEIVED) ||
                                        nb_tokenizing_wants(t, NB_FIELD_HEADER)};
    struct nb_buffer shortened = {0};
    struct nb_string mail = {bytes, length};
    int rc = 0;
    if (length > limits->mail_bytes) {
        walk.truncated = true;
        rc = shorten(bytes, length, limits->mail_bytes, &shortened);
        mail = (struct nb_string){shortened.bytes, shortened.length};
    }
    if (rc == 0)
        rc = walk_bytes(&walk, mail, NULL, 0, 0);
    if (rc == 0)
        rc = nb_mail_structure_whole(t, limits->mail_parts - walk.parts_left, length);
    t->bag->truncated |= walk.truncated;
    nb_buffer_deinit(&walk.decoded);
    nb_buffer_deinit(&walk.utf8);
    nb_buffer_deinit(&shortened);
    return rc;
}
