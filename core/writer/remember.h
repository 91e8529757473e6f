/* SPDX-License-Identifier: Apache-2.0
 *
 * Brings verdicts into the history of their models (core/writer/remembered_history.h). A
 * verdict is noted in memory; about a second later the writer's thread writes it, together with
 * others. So nobody waits for the disk, and a crash may lose the verdicts of that second. Memory
 * and disk are bounded: a verdict that comes while the memory is full is dropped, and each write
 * also removes records that the model's settings `history` and `history_days` no longer allow.
 */
#ifndef NB_CORE_WRITER_REMEMBER_H
#define NB_CORE_WRITER_REMEMBER_H

#include "core/ledger/features_coding.h"
#include "core/model/live/state.h"
#include "core/writer/remembered_history.h"
#include "tokenizer/bag/bag.h"

/* ---- notes ----------------------------------------------------------------------------------- */

/* Any thread. */

/* The data noted with the bag; all borrowed. Strings that are too long are cut. */
struct nb_remember_note {
    struct nb_string id; /* id of the document; not empty */
    struct nb_string message_id, subject, source;
    struct nb_string verdict; /* the label */
    double probability;
    uint32_t fields; /* fields of the tokenizer that made the bag */
};

/* Whether the texts of words are kept, by the same rule as for learned documents. A model whose
 * features have a key of their own always keeps them, because its ids follow from its texts
 * alone. */
bool nb_remember_keeps_texts(const struct nb_engine *engine, const struct nb_live *live);

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
