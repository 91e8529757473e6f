/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds where the parts of a mail begin and end (RFC 5322, RFC 2046), in one pass over the bytes,
 * without recursion, allocation or copies. The caller reads the parts. Any thread; a scanner
 * belongs to one.
 *
 * The parser of GMime does this too, but it recurses for each level of nesting, and compares each
 * line that begins with "--" with all open boundaries, up to 1,024. Here the caller's limit bounds
 * both.
 *
 * Use: nb_mime_head takes the header of the current part. By its type, the caller decides whether
 * to open its boundary with nb_mime_open. nb_mime_body takes the bytes up to the next boundary of
 * an open level, and returns what follows them.
 */
#ifndef NB_TOKENIZER_MIME_H
#define NB_TOKENIZER_MIME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

enum {
    NB_MIME_LEVELS = 64,     /* most open levels, even if the caller's limit allows more */
    NB_MIME_BOUNDARY = 256,  /* bytes of a boundary; longer ones are ignored; RFC 2046 allows 70 */
    NB_MIME_FIELD_NAME = 128 /* bytes of a field's name; a line with a longer "name:" is text */
};

enum nb_mime_next {
    NB_MIME_PART, /* the header of another part, at the level that is now innermost */
    NB_MIME_TAIL, /* bytes after the end of a level, which belong to no part */
    NB_MIME_END   /* the end of the mail */
};

/* An open multipart. */
struct nb_mime_level {
    char boundary[NB_MIME_BOUNDARY];
    size_t length;
    size_t depth; /* for the caller: number of multiparts and messages around its parts */
    bool digest;  /* for the caller: parts without a type are messages */
    size_t parts; /* number of parts found so far */
};

struct nb_mime_scanner {
    const char *at; /* borrowed: the rest to be read */
    const char *end;
    struct nb_mime_level levels[NB_MIME_LEVELS];
    size_t open;
};

/* Begins to scan `length` bytes, which are borrowed. */
void nb_mime_scan(struct nb_mime_scanner *scanner, const char *bytes, size_t length);

/* Takes the header of the current part, without the empty line behind it. Text that does not begin
 * like a header ("name:") is left for the body. */
struct nb_string nb_mime_head(struct nb_mime_scanner *scanner);

/* Opens a level: from now on lines "--boundary" begin its parts. False if the boundary is empty or
 * too long, or no level is left. */
bool nb_mime_open(struct nb_mime_scanner *scanner, struct nb_string boundary, size_t depth);

/* Takes the bytes up to the next boundary of an open level into *body, and returns what follows.
 * Closes all levels inside that level, and at a closing boundary the level itself. */
enum nb_mime_next nb_mime_body(struct nb_mime_scanner *scanner, struct nb_string *body);

/* The innermost open level; NULL if none is open. */
struct nb_mime_level *nb_mime_innermost(struct nb_mime_scanner *scanner);

/* Reads the next field and removes it from *head: sets its name without the colon, and its raw
 * value, still folded, without the last line break. Skips lines that are no fields. Returns false
 * when no field is left. */
bool nb_mime_field(struct nb_string *head, struct nb_string *name, struct nb_string *value);

/* Returns the value of the first field with that name (in any case) in the header of a mail. Reads
 * at most `most` bytes. The length is 0 if there is no such field. */
struct nb_string nb_mime_find_field(struct nb_string mail, size_t most, const char *wanted);

#endif
