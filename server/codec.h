/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of the HTTP API, on memory alone: documents and settings in, replies out, dumps both
 * ways. Knows nothing of HTTP but status numbers. Any thread; nothing is shared between calls.
 *
 * Reading is strict: duplicate keys, invalid UTF-8, unknown members and anything after the value
 * are refused, with the line and column or the member's name. NB_INVALID means 400 (syntax, type,
 * unknown or missing member), NB_UNUSABLE means 422 (a value that cannot be used); every function
 * that reads may also return NB_NO_MEMORY.
 *
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call. The output is always valid JSON in UTF-8 on one line without a line feed: bytes
 * of a token that are not UTF-8 become U+FFFD. Real numbers read back to the last bit.
 */
#ifndef NB_SERVER_CODEC_H
#define NB_SERVER_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/engine/engine.h"

/* ---- errors ---------------------------------------------------------------------------------- */

/* The HTTP status of an engine's or codec's code (enum nb_code), the one place that says so:
 * 400 INVALID; 422 UNUSABLE; 413 TOO_LARGE; 404 NOT_FOUND; 409 CONFLICT and EXISTS;
 * 415 UNSUPPORTED; 401 UNKNOWN; 403 FORBIDDEN; 503 for DISK_FULL, IO, CORRUPT, VERSION, LOCKED,
 * STOPPING, NO_MEMORY. 0 gives 200; a code that is none of them 500. */
int nb_codec_status(int code);

/* The reason phrase of a status (RFC 9110), the `title` of its problem: "Not Found". */
const char *nb_codec_title(int status);

/* {"type": "about:blank", "title", "status", "detail"} (RFC 9457: with about:blank the title is the
 * status's own phrase). `detail` need not be UTF-8; when NULL or empty it is the title. */
int nb_codec_problem(struct nb_buffer *out, int status, const char *detail);

/* The problem of a failure: the status of `error->code` and its text. */
int nb_codec_problem_of(struct nb_buffer *out, const struct nb_error *error);

/* ---- documents ------------------------------------------------------------------------------- */

/* What is asked of a document, which says which members it must have. `label` and `id` are allowed
 * with every verb. */
enum nb_codec_verb {
    NB_CODEC_TRAIN,   /* content and label */
    NB_CODEC_UNTRAIN, /* content or id */
    NB_CODEC_READ     /* content (classify, tokenize) */
};

struct json_t;

/* One document object. Its strings lie in `json`, in `decoded` or in the body that it was read
 * from: the body's bytes must outlive it. */
struct nb_codec_document {
    bool has_content; /* false: untrain by id alone; `document` is then empty */
    struct nb_document document;
    struct nb_string label;   /* length 0: none given; else checked by nb_check_label */
    struct nb_string id;      /* length 0: none given; else checked by nb_check_id */
    struct nb_buffer decoded; /* private: owned bytes of decoded strings */
    struct json_t *json;      /* private: reference on the parsed value, or NULL */
};

/* Reads one document object: the line of an NDJSON body. `line` is borrowed. On failure nothing
 * needs freeing. */
int nb_codec_document_read(struct nb_string line, enum nb_codec_verb verb,
                           struct nb_codec_document *document, struct nb_error *error);
void nb_codec_document_deinit(struct nb_codec_document *document);

/* A JSON body: one document object, or {"documents": [...]}. */
struct nb_codec_body;

/* Parses a body; `text` is borrowed and must outlive the body and its documents. More than
 * `most_documents` in a batch are NB_TOO_LARGE. */
int nb_codec_body_new(struct nb_string text, size_t most_documents, struct nb_codec_body **body,
                      struct nb_error *error);
void nb_codec_body_free(struct nb_codec_body **body);

/* Whether it is a batch: the reply is then {"results": [...]} even for one document. */
bool nb_codec_body_is_batch(const struct nb_codec_body *body);

/* How many documents there are: 1 unless it is a batch, which may be empty. */
size_t nb_codec_body_size(const struct nb_codec_body *body);

/* Reads document `index` (below nb_codec_body_size). A failure concerns this document only: in a
 * batch it is an error in its place. Free each with nb_codec_document_deinit, before or after the
 * body. */
int nb_codec_body_document(const struct nb_codec_body *body, size_t index, enum nb_codec_verb verb,
                           struct nb_codec_document *document, struct nb_error *error);

/* ---- replies --------------------------------------------------------------------------------- */

/* A JSON string, quotes included. */
int nb_codec_string(struct nb_buffer *out, struct nb_string s);

/* The receipt of a train or untrain, as API's receipt object; a receipt with a code is written as
 * nb_codec_error. (A single request answers such a receipt with the problem itself instead:
 * nb_codec_problem_of(out, &receipt->error) and nb_codec_status(receipt->code).) */
int nb_codec_receipt(struct nb_buffer *out, struct nb_string model,
                     const struct nb_receipt *receipt);

/* {"error": problem}: a failed document's place in a batch or NDJSON reply. */
int nb_codec_error(struct nb_buffer *out, const struct nb_error *error);

/* What is to be done about the document, and why. */
struct nb_codec_decision {
    const char *label; /* or "unsure" */
    const char *reason;
};

/* A verdict, with its explanation if it has one. `decision` may be NULL: none was asked for. */
int nb_codec_verdict(struct nb_buffer *out, struct nb_string model,
                     const struct nb_verdict *verdict, const struct nb_codec_decision *decision);

/* {"tokens": [...]}: the features of token fields, in order of first appearance. */
int nb_codec_tokens(struct nb_buffer *out, const struct nb_bag *bag);

/* The reply to a batch, written result by result: {"results": [...], totals, "failed": n}. Between
 * two calls the caller may take what is in `out` away (to a file) and empty it. The totals are
 * learned, unchanged, relabelled, updated for a train, forgotten for an untrain, none else. */
enum nb_codec_results_kind { NB_CODEC_TRAINED, NB_CODEC_UNTRAINED, NB_CODEC_READINGS };

struct nb_codec_results {
    struct nb_buffer *out; /* borrowed */
    enum nb_codec_results_kind kind;
    uint64_t size;                     /* results written */
    uint64_t totals[NB_FORGOTTEN + 1]; /* by enum nb_status */
    uint64_t failed;
};
int nb_codec_results_begin(struct nb_codec_results *results, enum nb_codec_results_kind kind,
                           struct nb_buffer *out);
int nb_codec_results_receipt(struct nb_codec_results *results, struct nb_string model,
                             const struct nb_receipt *receipt);
int nb_codec_results_verdict(struct nb_codec_results *results, struct nb_string model,
                             const struct nb_verdict *verdict,
                             const struct nb_codec_decision *decision);
int nb_codec_results_tokens(struct nb_codec_results *results, const struct nb_bag *bag);
int nb_codec_results_error(struct nb_codec_results *results, const struct nb_error *error);
int nb_codec_results_end(struct nb_codec_results *results);

/* A model's row; with `settings`, its settings too (GET of one model). */
int nb_codec_model(struct nb_buffer *out, const struct nb_model_info *info, bool settings);

/* {"models": [rows]}. */
int nb_codec_models(struct nb_buffer *out, const struct nb_model_info *infos, size_t count);

/* {"id", "label", "learned": RFC 3339 in UTC with milliseconds, "tokens"}. */
int nb_codec_document_info(struct nb_buffer *out, struct nb_string id,
                           const struct nb_document_info *info);

/* {"model", "positive", "windows": [{"window", ...}, ...], "threshold"}: the last only when one was
 * asked for. A figure that is undefined is null. */
int nb_codec_evaluation(struct nb_buffer *out, struct nb_string model,
                        const struct nb_evaluation_report *report);

int nb_codec_vocabulary(struct nb_buffer *out, const struct nb_vocabulary *vocabulary);

/* ---- mail filters (codec_rspamd.c): the objects of rspamd 3.4, as its clients read them ---------
 */

struct nb_config;
struct nb_filter_report;

/* The two shapes of a report: of /checkv2, and of /check, /symbols and /scan, whose symbols lie
 * beside the score. */
enum nb_codec_rspamd_shape { NB_CODEC_RSPAMD_V2, NB_CODEC_RSPAMD_OLD };

/* A report; `seconds` is the time that it took. */
int nb_codec_rspamd_report(struct nb_buffer *out, const struct nb_config *config,
                           const struct nb_filter_report *report, enum nb_codec_rspamd_shape shape,
                           double seconds);

/* {"error": detail}; for 401, 403 and from status 500 on with the action "soft reject", which makes
 * every client try again later, whatever it thinks of the status. */
int nb_codec_rspamd_error(struct nb_buffer *out, int status, const char *detail);

/* The reply to a mail that was learned: {"success": true}; or was already: rspamd's very sentence,
 * which clients search for; `message_id` without angle brackets, or "". */
int nb_codec_rspamd_learned(struct nb_buffer *out);
int nb_codec_rspamd_unchanged(struct nb_buffer *out, const char *message_id,
                              const char *class_name);

/* What /stat says. */
struct nb_codec_rspamd_stat {
    const uint64_t *actions; /* by enum nb_filter_action */
    uint64_t learned;        /* changes since the start */
    uint64_t spam, ham;      /* documents of the model */
    uint64_t spam_tokens, ham_tokens;
    uint64_t uptime; /* seconds */
    uint64_t memory; /* bytes */
    const char *version;
};
int nb_codec_rspamd_stat(struct nb_buffer *out, const struct nb_codec_rspamd_stat *stat);
int nb_codec_rspamd_auth(struct nb_buffer *out, const char *version, uint64_t uptime);

/* ---- settings -------------------------------------------------------------------------------- */

/* Reads the settings of a PUT: what is left out is its default, of the preset that member "preset"
 * names, else of the `existing` model's, else (NULL) of the text preset. With `keep_tokenizer` (the
 * model has documents) a `tokenizer` that is left out stays what it is. `settings` is filled on
 * success only, the caller's to deinit, and has passed nb_settings_check. */
int nb_codec_settings_read(struct nb_string text, const struct nb_settings *existing,
                           bool keep_tokenizer, struct nb_settings *settings,
                           struct nb_error *error);

/* The settings as an object that nb_codec_settings_read reads back. */
int nb_codec_settings(struct nb_buffer *out, const struct nb_settings *settings);

/* ---- dumps: export and import ---------------------------------------------------------------- */

/* The lines of a dump, each with its line feed:
 *     {"bayesd_dump": 1, "tokenizer_version": 1, "settings": {...}, "key": base64, "labels": [...]}
 *     {"words": {"first_row": n, "ids": [16 hexadecimal digits, ...], "texts": [...] or null}} ...
 *     {"document": {"id", "label": number, "learned": ms, "tokens", "rows": [...], "counts":
 * [...]}}
 *     {"end": {"documents": n, "words": n}}
 * The last line tells a whole dump from one that was cut off. */
int nb_codec_dump_header(struct nb_buffer *out, const struct nb_dump_header *header);
/* A long run becomes several lines, so that no line is over the limit of NDJSON lines. */
int nb_codec_dump_words(struct nb_buffer *out, const struct nb_dump_words *words);
int nb_codec_dump_document(struct nb_buffer *out, const struct nb_dump_document *document);
int nb_codec_dump_end(struct nb_buffer *out, uint64_t documents, uint64_t words);

enum nb_codec_record_kind {
    NB_CODEC_RECORD_BLANK, /* a line of white space: nothing to do */
    NB_CODEC_RECORD_HEADER,
    NB_CODEC_RECORD_WORDS,
    NB_CODEC_RECORD_DOCUMENT,
    NB_CODEC_RECORD_END
};

/* One record read back; borrowed from the reader until its next call. */
struct nb_codec_record {
    enum nb_codec_record_kind kind;
    union {
        struct nb_dump_header header;
        struct nb_dump_words words;
        struct nb_dump_document document;
    };
};

/* Reads a dump line by line and refuses one whose records are out of order, do not fit each other
 * or are incomplete. One thread at a time. */
struct nb_codec_dump_reader;
int nb_codec_dump_reader_new(struct nb_codec_dump_reader **reader); /* 0 or NB_NO_MEMORY */
void nb_codec_dump_reader_free(struct nb_codec_dump_reader **reader);

/* Reads the next line (its line feed may be there or not). NB_INVALID with "line N: ...", also for
 * a version that this program does not know; after a failure the reader is of no more use. */
int nb_codec_dump_read(struct nb_codec_dump_reader *reader, struct nb_string line,
                       struct nb_codec_record *record, struct nb_error *error);

/* After the last line: 0, or NB_INVALID when the dump has no end line. */
int nb_codec_dump_finish(const struct nb_codec_dump_reader *reader, struct nb_error *error);

#endif
