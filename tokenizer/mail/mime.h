/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the parts of a mail begin and end (RFC 5322, RFC 2046): one pass over the bytes, no
 * recursion, no allocation, no copy; what the parts say is left to the caller. Any thread; a
 * scanner belongs to one.
 *
 * GMime's own parser does this too, but recurses once per level of nesting and compares every line
 * that begins with "--" with all open boundaries, up to 1,024 of them; here the caller's limit
 * bounds both.
 *
 * Use: nb_mime_head takes the header of the part at hand; its type tells the caller whether to
 * nb_mime_open its boundary; nb_mime_body takes what follows up to the next boundary of an open
 * level, which tells what comes next.
 */
#ifndef NB_TOKENIZER_MAIL_MIME_H
#define NB_TOKENIZER_MAIL_MIME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

enum {
    NB_MIME_LEVELS = 64,     /* the most that can be open, whatever the limits say */
    NB_MIME_BOUNDARY = 256,  /* RFC 2046 allows 70 characters; longer than this is no boundary */
    NB_MIME_FIELD_NAME = 128 /* a longer "name:" is taken for text */
};

enum nb_mime_next {
    NB_MIME_PART, /* the header of another part follows, at the level that is now innermost */
    NB_MIME_TAIL, /* a level was closed: what follows up to the next boundary belongs to no part */
    NB_MIME_END   /* nothing follows */
};

/* An open multipart. */
struct nb_mime_level {
    char boundary[NB_MIME_BOUNDARY];
    size_t length;
    size_t depth; /* the caller's: multiparts and messages around its parts */
    bool digest;  /* the caller's: parts without a type are messages */
    size_t parts; /* found so far */
};

struct nb_mime_scanner {
    const char *at; /* borrowed: what is still to read */
    const char *end;
    struct nb_mime_level levels[NB_MIME_LEVELS];
    size_t open;
};

/* Sets up a scanner over `length` bytes. */
void nb_mime_scan(struct nb_mime_scanner *scanner, const char *bytes, size_t length);

/* The header at hand, without the blank line that ends it. Text that does not look like a header
 * (no "name:" at all) is left for the body. */
struct nb_string nb_mime_head(struct nb_mime_scanner *scanner);

/* Opens a level: lines "--boundary" now begin its parts. False if the boundary cannot be one (empty
 * or too long) or no level is left. */
bool nb_mime_open(struct nb_mime_scanner *scanner, struct nb_string boundary, size_t depth);

/* Takes everything up to the next boundary of an open level. Levels inside that one are closed, and
 * itself too if it was the closing boundary. */
enum nb_mime_next nb_mime_body(struct nb_mime_scanner *scanner, struct nb_string *body);

/* The innermost open level, NULL if none is. */
struct nb_mime_level *nb_mime_innermost(struct nb_mime_scanner *scanner);

/* Takes the next field off a header: its name without the colon, its value as it stands, folded,
 * without the last line break. Lines that are no fields are passed over. False when none is left.
 */
bool nb_mime_field(struct nb_string *head, struct nb_string *name, struct nb_string *value);

#endif
