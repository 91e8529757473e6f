/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through the parts of a mail, including nested messages, in a loop. It recurses only for a
 * multipart or message that is itself encoded: RFC 2046 forbids that, but mail programs open it. At
 * most ENCODED_DEPTH of these are nested, so no byte is decoded more often than that.
 *
 * A mail of more than limits->mail_bytes is shortened in the middle: spam may fill it with
 * anything, while the text of the last part or the footer of a list is at the end.
 */
#include "tokenizer/mail/mail.h"

#include <assert.h>
#include <string.h>

#include "core/base/error.h"
#include "tokenizer/mail/mail_content.h"
#include "tokenizer/mail/mail_decode.h"
#include "tokenizer/mail/mail_header.h"
#include "tokenizer/mail/mail_leaf.h"
#include "tokenizer/mail/mail_values.h"
#include "tokenizer/mail/mime.h"
#include "tokenizer/text/derived.h"

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
    body.length = nb_work_take(&walk->t->work, body.length, NB_WORK_DECODE);
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
