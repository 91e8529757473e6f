/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads documents from JSON: one object, a line of NDJSON, or a batch. Any thread; a document or
 * body belongs to one.
 *
 * "label" and "id" may be whole numbers, which stand for their texts. Numbers with a point or an
 * exponent are refused: 1.0 is the same number as 1, but would be another name.
 *
 * Reading is strict: duplicate keys, invalid UTF-8, unknown members and anything after the value
 * are refused, with the line and column or the member's name. NB_INVALID means 400 (syntax, type,
 * unknown or missing member), NB_UNUSABLE means 422 (a value that cannot be used). Every function
 * that reads may also return NB_NO_MEMORY.
 */
#ifndef NB_SERVER_BASE_DOCUMENT_JSON_H
#define NB_SERVER_BASE_DOCUMENT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/base/json_values.h"
#include "tokenizer/document.h"

/* The request for a document, which decides the members that it must have. `label`, `id` and
 * `source` are allowed with every verb. */
enum nb_verb {
    NB_VERB_TRAIN = 1, /* content and label, or id and label alone */
    NB_VERB_UNTRAIN,   /* content or id */
    NB_VERB_CLASSIFY,  /* content */
    NB_VERB_TOKENIZE   /* content */
};

struct json_t;

/* One document object. Its strings lie in `json`, in `decoded` or in the body that it was read
 * from: the body's bytes must outlive it. */
struct nb_json_document {
    bool has_content; /* false: `document` is empty; untrain or a new label, by id alone */
    bool has_labels;  /* `label` is a set of labels (core/base/label_set.h) */
    struct nb_document document;
    struct nb_string label;       /* no bytes: none given, or null; else by nb_label_take */
    struct nb_string id;          /* length 0: none given; else checked by nb_check_id */
    struct nb_string source;      /* length 0: none given; else checked by nb_check_source */
    const char *warning;          /* a warning from reading its bytes; NULL: there is none */
    struct nb_json_values values; /* private: owned; the values of `document` */
    struct nb_buffer decoded;     /* private: owned bytes of decoded strings */
    struct nb_buffer lines;       /* private: owned; of a mail (tokenizer/mail_file.h) */
    struct nb_buffer label_room;  /* private: owned; the label, if it had to be changed */
    struct json_t *json;          /* private: reference on the parsed value, or NULL */
};

/* Reads one document object, a line of an NDJSON body. `line` is borrowed. On failure nothing needs
 * freeing. */
int nb_json_document_read(struct nb_string line, enum nb_verb verb,
                          struct nb_json_document *document, struct nb_error *error);
void nb_json_document_deinit(struct nb_json_document *document);

/* Reads one document object to be classified with a further member, "models": the names of 1 to
 * `most` different models. The names borrow from the document; *models is the caller's to free.
 * `text` must outlive the document. More models are NB_TOO_LARGE. On failure nothing needs
 * freeing. */
int nb_json_document_read_models(struct nb_string text, size_t most,
                                 struct nb_json_document *document, struct nb_string **models,
                                 size_t *count, struct nb_error *error);

/* A JSON body: one document object, or {"documents": [...]}. */
struct nb_json_body;

/* Parses a body; `text` is borrowed and must outlive the body and its documents. More than
 * `most_documents` in a batch are NB_TOO_LARGE. */
int nb_json_body_new(struct nb_string text, size_t most_documents, struct nb_json_body **body,
                     struct nb_error *error);
void nb_json_body_free(struct nb_json_body **body);

/* Whether the body is a batch. The reply to a batch is {"results": [...]}, even for one document.
 */
bool nb_json_body_is_batch(const struct nb_json_body *body);

/* Returns the number of documents: 1, or that of the batch, which may be empty. */
size_t nb_json_body_size(const struct nb_json_body *body);

/* Reads document `index` (below nb_json_body_size). A failure concerns this document only; in a
 * batch its result is the error. Free each document with nb_json_document_deinit, before or after
 * the body. */
int nb_json_body_document(const struct nb_json_body *body, size_t index, enum nb_verb verb,
                          struct nb_json_document *document, struct nb_error *error);

/* Reads JSON documents and batches without jansson, and base64. Pure functions; any thread.
 *
 * The reader knows documents and batches and nothing else: their strings are most of what the
 * daemon reads, and a general parser takes ten times as long for them. It either reads the whole
 * text as jansson would, or returns false; then jansson reads the text, or reports its fault.
 */

enum nb_document_member {
    NB_MEMBER_TEXT,
    NB_MEMBER_MAIL,
    NB_MEMBER_MAIL_BASE64,
    NB_MEMBER_LABEL,
    NB_MEMBER_ID,
    NB_MEMBER_SOURCE,
    NB_MEMBERS
};

extern const char *const nb_scan_members[NB_MEMBERS]; /* their names */

/* A document object in its text: the string of each member between its quotes, or the digits of a
 * label or an id that is a whole number. */
struct nb_flat_document {
    struct nb_string raw[NB_MEMBERS];
    unsigned given;   /* bits 1u << enum nb_document_member */
    unsigned escaped; /* bits of the members whose string has a backslash */
};

/* ---- documents ------------------------------------------------------------------------------- */

/* Scans a document object. Moves *at behind it. */
bool nb_scan_document(const char **at, const char *end, struct nb_flat_document *document);
/* Whether only white space is left. */
bool nb_scan_end(const char *at, const char *end);
/* Scans the beginning of a batch, up to its '['. */
bool nb_scan_batch_open(const char **at, const char *end);
/* Call it after each document, and before the first one (`first`). Returns 1 if a document follows,
 * 0 after "]}", else -1. */
int nb_scan_batch_next(const char **at, const char *end, bool first);

/* Writes the string that the scanned `raw` stands for. `to` has room for raw.length bytes, because
 * no escape is shorter than its character. Returns the length. */
size_t nb_scan_unescape(struct nb_string raw, char *to);

/* Decodes the base64 (RFC 4648, section 4) `text`, which ends with its padding, into `out`, which
 * has room for `room` bytes. White space (" \t\r\n") is skipped anywhere. Sets *length to the
 * number of bytes. Returns NULL, or the place in `text` (possibly its end) of a byte that is not
 * base64 or does not fit.
 *
 * Accepts the same texts as sodium_base642bin in a fraction of the time: a batch of mails is mostly
 * base64. Not for secrets: the time depends on the text. */
const char *nb_base64_decode(struct nb_string text, unsigned char *out, size_t room,
                             size_t *length);

#endif
