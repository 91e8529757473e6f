/* SPDX-License-Identifier: Apache-2.0
 *
 * The histories of models, and how verdicts come there. A verdict is noted in memory; about a
 * second later the writer's thread writes it, together with others. So nobody waits for the disk,
 * and a crash may lose the verdicts of that second. Memory and disk are bounded: a verdict that
 * comes while the memory is full is dropped, and each write also removes records that the model's
 * settings `history` and `history_days` no longer allow.
 */
#ifndef NB_CORE_WRITER_REMEMBER_H
#define NB_CORE_WRITER_REMEMBER_H

#include "core/base/buffer.h"
#include "core/ledger/features_coding.h"
#include "core/model/state.h"
#include "core/store/store.h"
#include "tokenizer/bag.h"

/* ---- the history ----------------------------------------------------------------------------- */

/* The history of a model: its last verdicts, each with the bag of its document, so that the
 * document can be learned later without being sent again. The records have tables of their own,
 * outside the ledger, because they do not affect the model. HISTORY maps a number, which ascends
 * with time, to a record. HISTORY_IDS maps a document's id to the number of its newest record;
 * older ones are removed. Only the writer may call the functions that write; the others are for any
 * thread that holds a view.
 *
 * Stored form: a byte, 1 if the document was truncated, plus 2 if there is a From, plus 4 if there
 * are parts, plus 8 if there is a `known`; the time in milliseconds since 1970 (8 bytes); id,
 * Message-ID, Subject, From if there is one, source and verdict (strings); the probability, and
 * `known` if there is one (doubles); the tokenizer's fields, the positions and the number of
 * features (varints); the features (a string, core/ledger/features_coding.h); the parts (a string),
 * if there are some; and for each feature that occurs more than once two varints: its distance from
 * the previous such feature (the first one's: its place, counted from 1), and its count less one.
 *
 * Parts are those of the visible text (core/base/feature.h): two varints, the bytes at its
 * beginning that stand in every passage, and all its bytes; and for each feature that is in another
 * part than the one before it (before the first: 0) two varints: its distance from the previous
 * such feature, as above, and its part. */

/* A verdict in the history. The strings are borrowed from the stored form. */
struct nb_history_record {
    struct nb_string id;
    struct nb_string message_id; /* of a mail, without angle brackets; may be empty */
    struct nb_string subject;    /* only with the setting `history_subject`; may be empty */
    struct nb_string sender;     /* From, as the subject */
    struct nb_string source;     /* the client that asked for the verdict */
    struct nb_string verdict;    /* the winning label, ... */
    double probability;          /* ... and its probability */
    double known; /* the probability that the document is of any of the labels; NaN: not told */
    int64_t time;
    bool truncated;
    uint32_t fields; /* fields of the tokenizer that made the features */
    uint64_t positions;
    size_t feature_count;
    struct nb_string features; /* stored form */
    struct nb_string parts;    /* stored form; empty: not kept */
    struct nb_string repeats;  /* stored form of the counts above 1 */
};

/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_history_write(const struct nb_history_record *record, struct nb_buffer *out);
/* Reads the stored form; the features are not decoded. Returns 0 or NB_CORRUPT. */
int nb_history_read(struct nb_history_record *record, struct nb_string stored,
                    struct nb_error *error);

/* Puts a record under the next number, and removes the earlier record of the same id. Returns 0 or
 * a code. */
int nb_history_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_string stored, struct nb_error *error);
/* Finds the record of an id, if it is one of the newest `records` (UINT64_MAX: of all). Returns 0,
 * NB_NOT_FOUND without a text, or NB_CORRUPT (the record is damaged). */
int nb_history_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                    uint64_t records, struct nb_string *stored, struct nb_error *error);
/* Finds the newest record whose number is below `before`, and sets *number to its number. Returns
 * NB_NOT_FOUND without a text if there is none. */
int nb_history_before(const struct nb_view *view, uint32_t model, uint64_t before, uint64_t *number,
                      struct nb_string *stored, struct nb_error *error);
/* Removes the record of an id. If the stored number of the record is damaged, removes the whole
 * history, because the record cannot be identified. Sets *removed to whether there was one. Returns
 * 0 or a code. */
int nb_history_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                      bool *removed, struct nb_error *error);

/* Removes all records of a model. Returns 0 or a code. */
int nb_history_clear(const struct nb_view *view, uint32_t model, struct nb_error *error);

/* The records that a history keeps. */
struct nb_history_limits {
    uint64_t records; /* the newest so many numbers; 0: none */
    int64_t since;    /* verdicts from this time on, in milliseconds since 1970 */
};
/* Removes up to `most` records that the limits leave out, the oldest first. If a record is damaged,
 * removes the whole history, because the age of the record is unknown. Sets *removed to the number
 * of removed records. Returns 0 or a code. */
int nb_history_trim(const struct nb_view *view, uint32_t model,
                    const struct nb_history_limits *limits, size_t most, size_t *removed,
                    struct nb_error *error);

/* ---- notes ----------------------------------------------------------------------------------- */

/* Any thread. */

/* The data noted with the bag; all borrowed. Strings that are too long are cut. */
struct nb_remember_note {
    struct nb_string id; /* id of the document; not empty */
    struct nb_string message_id, subject, sender, source;
    struct nb_string verdict; /* the label */
    double probability;
    double known;        /* as in a record */
    uint32_t fields;     /* fields of the tokenizer that made the bag */
    bool keeps_passages; /* keep in which part of the text each feature is */
};

/* Whether the texts of words are kept, by the same rule as for learned documents. A model whose
 * features have a key of their own always keeps them, because its ids follow from its texts
 * alone. */
static inline bool nb_remember_keeps_texts(const struct nb_engine *engine,
                                           const struct nb_live *live)
{
    return engine->settings.keep_words || live->key != live->id_key;
}

/* Notes the verdict about the document with this bag, as nb_remember does. `coder` is used. */
int nb_remember_note(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_remember_note *note, const struct nb_bag *bag,
                     struct nb_features_coder *coder);

/* Fills `bag`, which is emptied first, with the features of a record. `key` is the key that the
 * features are hashed with; `coder` is used. A word whose text was not kept is named by its id.
 * Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_remember_bag(const struct nb_history_record *record, const struct nb_key *key,
                    struct nb_features_coder *coder, struct nb_bag *bag, struct nb_error *error);

/* Makes the queue of an engine's records that wait to be written. NULL: out of memory. */
struct nb_remembering *nb_remembering_new(void);
/* Frees the queue and drops its records. *remembering may be NULL. */
void nb_remembering_free(struct nb_engine *engine, struct nb_remembering **remembering);

/* ---- any thread ------------------------------------------------------------------------------ */

/* Returns the limits of a model's history, by its settings. If the setting `history` is 0, the
 * model keeps no history. */
struct nb_history_limits nb_remember_limits(struct nb_live *live);

/* Notes a record of the model, which keeps a history and has a number: the stored forms of `id` and
 * the record are copied. Returns 0, or NB_BUSY: there is no room, or no memory. */
int nb_remember(struct nb_engine *engine, struct nb_live *live, struct nb_string id,
                struct nb_string stored);

/* Counts a record that could not be noted because there is no memory. Returns NB_BUSY. */
int nb_remember_miss(struct nb_engine *engine);

/* Whether records wait to be written; and whether there are so many that the writer should write
 * them at once. */
bool nb_remember_waits(struct nb_engine *engine);
bool nb_remember_is_urgent(struct nb_engine *engine);

/* Finds the record of a document, written or waiting, and appends its stored form to `stored`.
 * Records that the limits leave out are not found. Returns 0, NB_NOT_FOUND without a text, or a
 * code; NB_CORRUPT: the record is damaged. */
int nb_remember_find(struct nb_engine *engine, struct nb_live *live, struct nb_string id,
                     struct nb_buffer *stored, struct nb_error *error);

struct nb_remember_figures {
    uint64_t remembered, dropped; /* since the start: noted, and dropped for lack of room */
    uint64_t waiting;             /* records that wait to be written */
};
void nb_remember_count(struct nb_engine *engine, struct nb_remember_figures *figures);

/* ---- on the writer's thread ------------------------------------------------------------------ */

/* Writes the records that wait, if their time has come or `now` is true. Records that could not be
 * written are tried again. Returns 0 or a code. */
int nb_remember_flush(struct nb_engine *engine, bool now, struct nb_error *error);

/* Removes the records that the model's settings leave out, also if nobody uses the model. Loads
 * nothing. Looks at each model about once a minute. Returns whether there may be more to remove. */
bool nb_remember_age(struct nb_engine *engine, struct nb_live *live);

#endif
