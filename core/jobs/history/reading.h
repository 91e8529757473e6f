/* SPDX-License-Identifier: Apache-2.0
 *
 * What the functions of core/jobs/history share: a model whose history is read. One thread; for
 * core/jobs/history alone.
 */
#ifndef NB_CORE_JOBS_HISTORY_READING_H
#define NB_CORE_JOBS_HISTORY_READING_H

#include "core/ledger/entries/ledger.h"
#include "core/writer/remember/note.h"

struct nb_reading {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_view view; /* the caller's snapshot, while it holds one */
    struct nb_history_limits limits;
    struct nb_features_coder *coder; /* owned */
    struct nb_entry entry;
};

/* Writes what was noted before, and finds the model. On a disk that takes no more, that is not
 * read. Returns 0, or a code and nothing is to be ended. */
int nb_reading_begin(struct nb_reading *reading, struct nb_engine *engine, struct nb_string model,
                     struct nb_error *error);
void nb_reading_end(struct nb_reading *reading);

/* Sets *is_stored to whether the document is learned or stored, and *label to the label that it has
 * (length 0: none), whose name stays as long as the model. Returns 0 or a code; damage of the
 * ledger is told as nb_live_note tells it. */
int nb_reading_label(struct nb_reading *reading, struct nb_string id, bool *is_stored,
                     struct nb_string *label, struct nb_error *error);

/* What the caller is told of `rc`: damage of a history is no damage of its model. The history goes
 * when the next verdict is written. Returns the code and fills `error`. */
int nb_reading_tell(struct nb_reading *reading, int rc, const struct nb_error *why,
                    struct nb_error *error);

#endif
