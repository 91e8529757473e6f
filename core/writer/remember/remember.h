/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembering: verdicts on their way into the history of their models
 * (core/writer/remember/remembered_history.h). A verdict is noted in memory and written with
 * others, about a second later, by the writer's thread: nobody waits for the disk, and a crash may
 * lose what was noted in that second. Memory and disk are bounded: what comes while the memory is
 * full is not kept, and each record that is written takes those along that the model's settings
 * `history` and `history_days` leave out.
 */
#ifndef NB_CORE_WRITER_REMEMBER_REMEMBER_H
#define NB_CORE_WRITER_REMEMBER_REMEMBER_H

#include "core/model/live/state.h"
#include "core/writer/remember/remembered_history.h"

/* What waits to be written; of an engine. NULL: out of memory. */
struct nb_remembering *nb_remembering_new(void);
/* Drops what waits. NULL is allowed inside. */
void nb_remembering_free(struct nb_engine *engine, struct nb_remembering **remembering);

/* ---- any thread ------------------------------------------------------------------------------ */

/* What a model's settings say of its history. The setting `history` is 0: it keeps none. */
struct nb_history_limits nb_remember_limits(struct nb_live *live);

/* Notes a record of the model, which keeps a history and has a number: the stored forms of `id` and
 * the record are copied. Returns 0, or NB_BUSY: there is no room, or no memory. */
int nb_remember(struct nb_engine *engine, struct nb_live *live, struct nb_string id,
                struct nb_string stored);

/* Counts a record that could not be noted because there is no memory. Returns NB_BUSY. */
int nb_remember_miss(struct nb_engine *engine);

/* Whether something waits; and whether so much that the writer should not wait for its time. */
bool nb_remember_waits(struct nb_engine *engine);
bool nb_remember_is_urgent(struct nb_engine *engine);

/* Finds the record of a document, written or waiting, and appends its stored form to `stored`.
 * Those that the limits leave out are not found. Returns 0, NB_NOT_FOUND without a text, or a code;
 * NB_CORRUPT: it is damaged. */
int nb_remember_find(struct nb_engine *engine, struct nb_live *live, struct nb_string id,
                     struct nb_buffer *stored, struct nb_error *error);

struct nb_remember_figures {
    uint64_t remembered, dropped; /* noted since the start; could not be kept */
    uint64_t waiting;             /* to be written */
};
void nb_remember_count(struct nb_engine *engine, struct nb_remember_figures *figures);

/* ---- on the writer's thread ------------------------------------------------------------------ */

/* Writes what waits, if something does and its time has come, or `now`. What could not be written
 * is tried again. Returns 0 or a code. */
int nb_remember_flush(struct nb_engine *engine, bool now, struct nb_error *error);

/* Removes records of a model that nobody asks for, as its settings say; loads nothing. Looks at
 * each model about once a minute. Returns whether more may be left to remove. */
bool nb_remember_age(struct nb_engine *engine, struct nb_live *live);

#endif
