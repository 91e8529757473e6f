/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through the parts of a mail, including nested messages, in a loop. It recurses only for a
 * multipart or message that is itself encoded: RFC 2046 forbids that, but mail programs open it. At
 * most ENCODED_DEPTH of these are nested, so no byte is decoded more often than that.
 *
 * A mail of more than limits->mail_bytes is shortened in the middle: spam may fill it with
 * anything, while the text of the last part or the footer of a list is at the end.
 */
#include "tokenizer/mail.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/number.h"
#include "tokenizer/bag_private.h"
#include "tokenizer/html_text.h"
#include "tokenizer/mail_charset.h"
#include "tokenizer/mail_content.h"
#include "tokenizer/mail_decode.h"
#include "tokenizer/mail_header.h"
#include "tokenizer/mail_values.h"
#include "tokenizer/mime.h"
#include "tokenizer/text.h"
#include "tokenizer/text_formats.h"
#include "tokenizer/token.h"
#include "tokenizer/url.h"

enum {
    NAME_BYTES = 24,  /* bytes of the name of an element or attribute */
    VALUE_BYTES = 24, /* bytes of the value of an attribute; longer values hardly occur twice */
    SHAPE = 32,
    EXTENSION = 8,
    URL_SOURCE = 4096, /* bytes that are read of a URL in an attribute, with its entities */
    ATTRIBUTES = 64    /* attributes of one element that are counted */
};

static struct nb_string cut(struct nb_string s, size_t most)
{
    return (struct nb_string){s.bytes, s.length < most ? s.length : most};
}

static int count_named(struct nb_tokenizing *t, const char *name, const char *value)
{
    struct nb_feature_text f;
    if (*value == '\0')
        return 0;
    nb_feature_begin(&f, name);
    nb_feature_puts(&f, value);
    return nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
}

static int count_boundary(struct nb_tokenizing *t, const char *boundary)
{
    struct nb_feature_text f;
    if (*boundary == '\0')
        return 0;
    nb_feature_begin(&f, "mime:boundary=");
    nb_feature_put_shape(&f, (struct nb_string){boundary, strlen(boundary)}, SHAPE);
    return nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
}

/* Counts all extensions of a name like "invoice.pdf.exe" of at most EXTENSION bytes, and its words.
 */
static int count_file(struct nb_tokenizing *t, const char *name)
{
    int rc = 0;
    if (*name == '\0')
        return 0;
    for (const char *point = strchr(name, '.'); rc == 0 && point != NULL;
         point = strchr(point + 1, '.')) {
        size_t length = strcspn(point + 1, ".");
        struct nb_feature_text f;
        nb_feature_begin(&f, "mime:file=");
        nb_feature_put(&f, point, length + 1);
        if (length > 0 && length <= EXTENSION)
            rc = nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
    }
    return rc != 0 ? rc : nb_tokenize_text(t, NB_FIELD_STRUCTURE, "file:", name, strlen(name));
}

int nb_mail_structure_part(struct nb_tokenizing *t, const struct nb_mail_type *type)
{
    if (!nb_tokenizing_wants(t, NB_FIELD_STRUCTURE))
        return 0;
    int rc = count_named(t, "mime:", *type->media != '\0' ? type->media : "none");
    if (rc == 0)
        rc = count_named(t, "mime:charset=", type->charset);
    if (rc == 0)
        rc = count_named(t, "mime:encoding=", type->transfer);
    if (rc == 0)
        rc = count_boundary(t, type->boundary);
    return rc != 0 ? rc : count_file(t, type->file_name);
}

static bool holds_url(struct nb_string attribute)
{
    return nb_string_equals_nocase(attribute, "href") ||
           nb_string_equals_nocase(attribute, "xlink:href") || /* in SVG */
           nb_string_equals_nocase(attribute, "src") ||
           nb_string_equals_nocase(attribute, "action") ||
           nb_string_equals_nocase(attribute, "background");
}

/* Appends the scheme of a URL to `f`; a relative URL has none. */
static void put_scheme(struct nb_feature_text *f, struct nb_string url)
{
    size_t length = 0;
    while (length < url.length && length < VALUE_BYTES && strchr(":/?#", url.bytes[length]) == NULL)
        length++;
    if (length < url.length && url.bytes[length] == ':')
        nb_feature_put(f, url.bytes, length + 1);
}

/* Counts a link; `f` holds "html:a.href". */
static int count_link(struct nb_tokenizing *t, struct nb_feature_text *f, struct nb_string value)
{
    struct nb_buffer url = {0};
    value = cut(value, URL_SOURCE);
    int rc = nb_html_decode(&url, value.bytes, value.length);
    if (rc == 0 && url.length > 0) {
        nb_feature_puts(f, "=");
        put_scheme(f, (struct nb_string){url.bytes, url.length});
        rc = nb_feature_count(t, NB_FIELD_STRUCTURE, f);
    }
    if (rc == 0 && url.length > 0)
        rc = nb_tokenize_url(t, url.bytes, url.length);
    nb_buffer_deinit(&url);
    return rc;
}

/* Counts an attribute of the element in `f`, and restores `f`. */
static int count_attribute(struct nb_tokenizing *t, struct nb_feature_text *f,
                           struct nb_string name, struct nb_string value)
{
    size_t length = f->length;
    nb_feature_puts(f, ".");
    nb_feature_put_string(f, cut(name, NAME_BYTES));
    int rc = nb_feature_count(t, NB_FIELD_STRUCTURE, f);
    if (rc == 0 && holds_url(name) && value.length > 0) {
        rc = count_link(t, f, value);
    } else if (rc == 0 && value.length > 0) {
        nb_feature_puts(f, "=");
        nb_feature_put_string(f, cut(value, VALUE_BYTES));
        rc = nb_feature_count(t, NB_FIELD_STRUCTURE, f);
    }
    f->length = length;
    return rc;
}

/* Counts "html:font", "html:font.color", "html:font.color=red", and for a link its scheme,
 * "html:a.href=http:", and the parts of its URL. */
static int mail_structure_element(struct nb_tokenizing *t, const struct nb_html_token *start_tag)
{
    struct nb_feature_text f;
    struct nb_html_attributes attributes = nb_html_attributes_of(start_tag);
    struct nb_html_attribute attribute;
    nb_feature_begin(&f, "html:");
    nb_feature_put_string(&f, cut(start_tag->name, NAME_BYTES));
    int rc = nb_feature_count(t, NB_FIELD_STRUCTURE, &f);
    for (size_t i = 0; rc == 0 && i < ATTRIBUTES && nb_html_attribute(&attributes, &attribute); i++)
        rc = count_attribute(t, &f, attribute.name, attribute.value);
    return rc;
}

/* Counts "html:hidden", for a mail with text that a reader cannot see. */
static int mail_structure_hidden(struct nb_tokenizing *t)
{
    return count_named(t, "html:", "hidden");
}

int nb_mail_structure_read_as(struct nb_tokenizing *t, const char *content)
{
    return count_named(t, "mime:read-as=", content);
}

int nb_mail_structure_whole(struct nb_tokenizing *t, size_t parts, size_t bytes)
{
    char number[NB_NUMBER_DIGITS + 1];
    size_t logarithm = 0;
    while (bytes >> logarithm > 1)
        logarithm++;
    number[nb_number_put(number, parts)] = '\0';
    int rc = count_named(t, "mime:parts=", number);
    number[nb_number_put(number, logarithm)] = '\0';
    return rc != 0 ? rc : count_named(t, "mime:size=", number);
}

enum { ENCODED_BYTES = 3 /* most encoded bytes for one decoded byte */ };

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
    return mail_structure_element(reader->t, start_tag);
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
        rc = mail_structure_hidden(reader->t);
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

/* Finds the kind of content of a part that has none, or only text, by its type: looks at the file
 * name and, if the type is vague, at the beginning of the body. */
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
        content = nb_mail_content_of_type(type, text); /* UTF-16 may have hidden the kind */
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

enum { ENCODED_DEPTH = 4, LINE_SEARCH = 1000 };

struct walk {
    struct nb_tokenizing *t;
    struct nb_mail_reader reader;
    size_t parts_left;
    size_t header_left;
    bool truncated;    /* a limit was hit */
    bool wants_header; /* the settings want features of header fields other than the Subject */
};

/* Reads one header field about the content of a part. */
static int content_field(struct nb_mail_reader *reader, struct nb_mail_type *type,
                         struct nb_string name, struct nb_string value)
{
    if (!nb_string_starts_nocase(name, "Content-") ||
        !nb_work_spend(&reader->t->work, NB_WORK_PARAMETERS * value.length))
        return 0;
    reader->utf8.length = 0; /* file names may have raw bytes, too */
    if (nb_mail_field_to_utf8(&reader->charsets, (struct nb_string){"", 0}, &value,
                              &reader->utf8) != 0)
        return NB_NO_MEMORY;
    nb_mail_content_field(type, name, value);
    return 0;
}

enum kind { PART, NESTED_MESSAGE, MAIL };

/* Reads the header of a part, within the limit on headers. Counts the Subject of every message, and
 * all other fields of the mail itself. */
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
    assert(head.length <= walk->header_left);
    walk->header_left -= head.length;
    while (rc == 0 && nb_mime_field(&head, &name, &value)) {
        if (!nb_work_spend(&walk->t->work, NB_WORK_HEADER + NB_WORK_FIELD * value.length))
            break;
        rc = content_field(&walk->reader, type, name, value);
        if (rc == 0 && kind != PART && nb_string_equals_nocase(name, "Subject"))
            rc = nb_mail_subject(&walk->reader, value);
        if (kind == MAIL && walk->t->mail_values != NULL)
            nb_mail_values_field(walk->t->mail_values, name, value);
        if (rc == 0 && kind == MAIL && walk->wants_header)
            rc = nb_mail_header(walk->t, name, value, &walk->reader.charsets, &walk->reader.utf8);
    }
    return rc != 0 ? rc : nb_mail_structure_part(walk->t, type);
}

/* The position of the walk in a mail, or in a decoded part. */
struct place {
    struct nb_mime_scanner scanner;
    enum nb_mime_next next;
    size_t depth;   /* multiparts and messages around the current part */
    size_t encoded; /* how many of these were encoded as a whole */
    enum kind kind; /* kind of the current header */
    bool digest;    /* parts without a type are messages (RFC 2046, 5.1.5) */
    bool nested;    /* the current part is a message, and its own header comes next */
};

static int walk_bytes(struct walk *walk, struct nb_string bytes, const struct nb_mail_type *type,
                      size_t depth, size_t encoded);

/* Walks a multipart or a message whose bytes are encoded as a whole. */
static int encoded_entity(struct walk *walk, const struct place *place,
                          const struct nb_mail_type *type, struct nb_string body)
{
    if (place->encoded == ENCODED_DEPTH) {
        walk->truncated = true;
        return 0;
    }
    struct nb_buffer bytes = {0};
    struct nb_string message = walk->reader.charsets.message;
    body.length = nb_work_take(&walk->t->work, body.length, NB_WORK_DECODE);
    int rc = nb_mail_decode_body(type->encoding, body, &bytes);
    if (rc == 0)
        rc = walk_bytes(walk, (struct nb_string){bytes.bytes, bytes.length}, type, place->depth,
                        place->encoded + 1);
    walk->reader.charsets.message = message; /* that of a message in the bytes goes with them */
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
        return 0; /* `body` was the preamble, which mail programs do not show */
    /* If no line is its boundary, the multipart is encoded as a whole, or it is text. */
    if (opened && type->encoding != NB_MAIL_IDENTITY)
        return encoded_entity(walk, place, type, body);
    return nb_mail_leaf(&walk->reader, type, body);
}

static int nested_message(struct walk *walk, struct place *place, const struct nb_mail_type *type)
{
    struct nb_string body;
    int rc = 0;
    if (place->depth >= walk->t->limits->mail_depth) {
        skip_body(walk, place);
        return 0;
    }
    if (nb_mail_content_of_type(type, (struct nb_string){"", 0}) == NB_CONTENT_NONE)
        rc = nb_mail_structure_read_as(walk->t, nb_mail_content_word(NB_CONTENT_MESSAGE));
    if (rc != 0)
        return rc;
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

/* Reads the part that begins here: its header and, if it contains no other parts, its body. */
static int part(struct walk *walk, struct place *place)
{
    struct nb_mail_type type = {.encoding = NB_MAIL_IDENTITY};
    struct nb_string message = {place->scanner.at,
                                (size_t)(place->scanner.end - place->scanner.at)};
    struct nb_string head = nb_mime_head(&place->scanner);
    struct nb_string body;
    if (place->kind != PART)
        nb_mail_charsets_message(&walk->reader.charsets, message);
    int rc = read_head(walk, head, place->kind, &type);
    if (rc != 0)
        return rc;
    if (strncmp(type.media, "multipart/", strlen("multipart/")) == 0)
        return multipart(walk, place, &type);
    if (nb_mail_content_is_message(&type) || (place->digest && type.media[0] == '\0'))
        return nested_message(walk, place, &type);
    place->next = nb_mime_body(&place->scanner, &body);
    return nb_mail_leaf(&walk->reader, &type, body);
}

/* Begins the part after the boundary that was read last. */
static void enter_part(struct place *place)
{
    const struct nb_mime_level *level = nb_mime_innermost(&place->scanner);
    place->kind = PART;
    place->digest = level != NULL && level->digest;
    place->depth = level != NULL ? level->depth : 0;
}

/* Reads the current part and continues with the next one. */
static int step(struct walk *walk, struct place *place)
{
    struct nb_string between;
    int rc = 0;
    assert(place->next != NB_MIME_END && place->encoded <= ENCODED_DEPTH);
    if (place->next == NB_MIME_TAIL) {
        place->next = nb_mime_body(&place->scanner, &between);
    } else if (walk->parts_left == 0 || !nb_work_spend(&walk->t->work, NB_WORK_PART)) {
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

/* Sets the members one by one: an initializer would clear the 18 KB of levels, of which few are
 * used. */
static void place_begin(struct place *place, struct nb_string bytes, size_t depth, size_t encoded)
{
    nb_mime_scan(&place->scanner, bytes.bytes, bytes.length);
    place->next = NB_MIME_PART;
    place->depth = depth;
    place->encoded = encoded;
    place->kind = encoded == 0 ? MAIL : NESTED_MESSAGE;
    place->digest = false;
    place->nested = false;
}

/* Walks the bytes of a message, or, with `type`, of a decoded multipart or message of this type. */
static int walk_bytes(struct walk *walk, struct nb_string bytes, const struct nb_mail_type *type,
                      size_t depth, size_t encoded)
{
    struct place place;
    int rc = 0;
    place_begin(&place, bytes, depth, encoded);
    if (type != NULL && strncmp(type->media, "multipart/", strlen("multipart/")) == 0) {
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

/* Joins the beginning and the end of a mail that is too long. Cuts at line ends if possible,
 * because base64 can then still be decoded. */
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
                        .reader = {.t = t, .charsets = {.state = {.work = &t->work}}},
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
        rc = nb_mail_structure_whole(t, limits->mail_parts - walk.parts_left,
                                     nb_line_ends_size((struct nb_string){bytes, length}));
    t->bag->truncated |= walk.truncated;
    nb_mail_reader_deinit(&walk.reader);
    nb_buffer_deinit(&shortened);
    return rc;
}
