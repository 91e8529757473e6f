/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes an entry of the ledger about a model as a whole (made, changed, deleted, a label renamed),
 * and updates the model's state. On the writer's thread.
 */
#ifndef NB_CORE_ENGINE_ENGINE_MODELS_H
#define NB_CORE_ENGINE_ENGINE_MODELS_H

#include "core/ledger/ledger.h"
#include "core/model/state.h"

/* An administrative change: its entry, and the other data that it changes. */
struct nb_model_entry {
    struct nb_live *live;
    struct nb_change change;
    uint64_t number;                /* number of the entry */
    struct nb_ledger_totals totals; /* totals before the entry */
    const struct nb_settings *settings;
};

/* Appends the entry, giving the model its number if it has none. In a transaction, which may be
 * tried again. Returns as nb_ledger_append. */
int nb_model_entry_append(struct nb_engine *engine, struct nb_view *view,
                          struct nb_model_entry *task, struct nb_error *error);
/* Updates the stored state of the model, loaded or not, with the appended entry. In the same
 * transaction. Returns as nb_put_state. */
int nb_model_entry_touch(struct nb_engine *engine, const struct nb_view *view,
                         struct nb_model_entry *task, struct nb_error *error);
/* Notes in memory what the committed entry changed. */
void nb_model_entry_note(struct nb_engine *engine, const struct nb_model_entry *task);

#endif
