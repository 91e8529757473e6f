/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the JSON codec share. Any thread; for server/codec_*.c and their test only.
 */
#ifndef NB_SERVER_CODEC_PRIVATE_H
#define NB_SERVER_CODEC_PRIVATE_H

#include <jansson.h>

#include "server/codec.h"

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes JSON to a buffer. The first failure sticks, later calls do nothing, and the end puts the
 * buffer back as it was. */
struct nb_emitter {
    struct nb_buffer *out;
    size_t start; /* length of the buffer at the beginning */
    int code;     /* 0 or NB_NO_MEMORY */
};

struct nb_emitter nb_emit_begin(struct nb_buffer *out);
int nb_emit_end(struct nb_emitter *e);

/* `text` as it is: punctuation and literals. */
void nb_emit_raw(struct nb_emitter *e, const char *text);
/* Commas are put before keys and values by themselves, except after '{', '[' and ':'. `key` is one
 * of ours: it is not escaped. */
void nb_emit_open(struct nb_emitter *e, char bracket);
void nb_emit_close(struct nb_emitter *e, char bracket);
void nb_emit_key(struct nb_emitter *e, const char *key);
void nb_emit_name(struct nb_emitter *e, struct nb_string name); /* a key that is not ours */
void nb_emit_string(struct nb_emitter *e, struct nb_string s);
void nb_emit_text(struct nb_emitter *e, const char *text); /* a C string, as a JSON string */
void nb_emit_bool(struct nb_emitter *e, bool value);
void nb_emit_u64(struct nb_emitter *e, uint64_t value);
void nb_emit_i64(struct nb_emitter *e, int64_t value);
/* With 17 significant digits, so that it reads back to the last bit, and always with a point or an
 * exponent. What JSON has no number for (infinite, not a number) is null. */
void nb_emit_double(struct nb_emitter *e, double value);
/* The fewest digits that read back the same: slower, for what people look at. */
void nb_emit_short_double(struct nb_emitter *e, double value);

/* The objects that other objects hold. */
void nb_emit_error(struct nb_emitter *e, const struct nb_error *error); /* {"error": problem} */
void nb_emit_settings(struct nb_emitter *e, const struct nb_settings *settings);

/* ---- reading --------------------------------------------------------------------------------- */

/* A text with more values than `most_values` is NB_TOO_LARGE before it is parsed: three bytes of
 * text make a value of a hundred bytes of memory. Refuses duplicate keys, invalid UTF-8 and
 * anything after the value. */
int nb_codec_load(struct nb_string text, size_t most_values, json_t **value,
                  struct nb_error *error);

/* "a string", "a number" ... for messages. */
const char *nb_codec_type_name(const json_t *value);

enum {
    NB_TYPE_STRING = 1 << JSON_STRING,
    NB_TYPE_COUNT = 1 << JSON_INTEGER,
    NB_TYPE_NUMBER = 1 << JSON_INTEGER | 1 << JSON_REAL,
    NB_TYPE_ARRAY = 1 << JSON_ARRAY,
    NB_TYPE_OBJECT = 1 << JSON_OBJECT,
    NB_TYPE_NULL = 1 << JSON_NULL
};

struct nb_member {
    const char *name;
    unsigned types; /* which are right: NB_TYPE_... or'ed */
    bool required;
};

/* Takes an object apart: `values[i]` becomes the value of `members[i]` (borrowed) or NULL. Anything
 * but an object, an unknown member, a wrong type or a missing required member is NB_INVALID and
 * says so; `what` begins with an article: "a document". */
int nb_codec_take(const json_t *object, const char *what, const struct nb_member *members,
                  size_t count, const json_t **values, struct nb_error *error);

/* A JSON string's bytes, borrowed. */
struct nb_string nb_codec_text(const json_t *string);

/* nb_codec_settings_read of a parsed value. */
int nb_codec_settings_take(const json_t *value, const struct nb_settings *existing,
                           bool keep_tokenizer, struct nb_settings *settings,
                           struct nb_error *error);

/* ---- dumps ----------------------------------------------------------------------------------- */

enum { NB_DUMP_VERSION = 1, NB_DUMP_ID_LENGTH = 16 /* hexadecimal digits of a feature's id */ };

/* ---- documents, the fast way ----------------------------------------------------------------- */

enum nb_document_member {
    NB_MEMBER_TEXT,
    NB_MEMBER_MAIL,
    NB_MEMBER_MAIL_BASE64,
    NB_MEMBER_LABEL,
    NB_MEMBER_ID,
    NB_MEMBERS
};
extern const struct nb_member nb_document_members[NB_MEMBERS];

/* A document object as it lies in the text: each member's string between its quotes. */
struct nb_flat_document {
    struct nb_string raw[NB_MEMBERS];
    unsigned given;   /* bits 1u << enum nb_document_member */
    unsigned escaped; /* those whose string holds a backslash */
};

/* A reader of documents and batches and of nothing else: their strings are most of what the daemon
 * reads, and a general parser takes ten times as long for them. It either has understood all of
 * the text as jansson would, or says false; then jansson is asked, for the error or for what is
 * rarer. `*at` is moved behind what was read. */
bool nb_scan_document(const char **at, const char *end, struct nb_flat_document *document);
/* Nothing but white space is left. */
bool nb_scan_end(const char *at, const char *end);
/* The beginning of a batch, up to and with '['. */
bool nb_scan_batch_open(const char **at, const char *end);
/* After a document (`first`: before the first): 1 when another follows, 0 after "]}", else -1. */
int nb_scan_batch_next(const char **at, const char *end, bool first);

/* Writes the string that `raw` stands for to `to`, which has room for raw.length bytes: an escape
 * is never shorter than what it means. `raw` has been scanned. Returns the length. */
size_t nb_scan_unescape(struct nb_string raw, char *to);

#endif
