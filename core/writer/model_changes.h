/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a model as a whole: makes and deletes it, changes its settings, begins a refit. Any
 * thread, unless a comment says otherwise. A call waits until the change is on the disk.
 */
#ifndef NB_CORE_WRITER_MODEL_CHANGES_H
#define NB_CORE_WRITER_MODEL_CHANGES_H

#include "core/ledger/ledger.h"
#include "core/model/state.h"
#include "core/writer/batch.h"
#include "tokenizer/document.h"

/* Makes a model or changes its settings (`settings` is copied). Sets *created. NB_CONFLICT: with
 * `only_new` the model exists; or the tokenizer's settings differ and documents are learned; or the
 * parent that the settings name, or a child, cannot be one (core/model/parents.h). NB_UNUSABLE: no
 * such parent, a cycle, too many levels. Loads no counts except those of a parent, so that a
 * damaged model can be changed, too. `source` is kept with the change, here and below. */
int nb_engine_put_model(struct nb_engine *engine, struct nb_string model,
                        const struct nb_settings *settings, bool only_new, struct nb_string source,
                        bool *created, struct nb_error *error);
/* Fits the weights of a stacked model anew, on the documents that it has at the beginning, and
 * waits for the end. `stop` is called every few milliseconds: when it returns true, this function
 * returns, and the refit goes on. NB_CONFLICT: the model is not stacked. NB_NOT_FOUND, NB_DAMAGED,
 * NB_STOPPING ... */
int nb_engine_refit(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    bool (*stop)(void *user), void *user, struct nb_error *error);
/* Deletes a model, even a damaged one. NB_NOT_FOUND: there is no model of the name; NB_CONFLICT: it
 * is the parent of another. Its data are deleted afterwards, in slices. */
int nb_engine_delete_model(struct nb_engine *engine, struct nb_string model,
                           struct nb_string source, struct nb_error *error);

/* Validates and tokenizes a document on this thread and adds the change. If `id` is empty (length
 * 0), the id is made from the content (for a mail: from its identity, nb_mail_identity). A new
 * model takes the preset for the kind of its first document, and exists only after the commit.
 * `source` (length 0: none) names who asked for the change and is kept with it. A label without
 * bytes (NULL): the document is stored without one, and counted nowhere. With the setting
 * `new_fields`, the fields that the model lacks are added to it before this function returns,
 * unless the change is for the quarantine. On failure the batch is unchanged: NB_UNUSABLE (label,
 * id, source, values), NB_DAMAGED, NB_NOT_FOUND (no such model and no auto_create),
 * NB_NO_MEMORY. */
int nb_batch_train(struct nb_batch *batch, const struct nb_document *document,
                   struct nb_string label, struct nb_string id, struct nb_string source,
                   struct nb_error *error);

/* Changes that the engine makes to a model by itself or for a document, when several nodes make
 * them in the same order (core/model/relayed.h). On a thread that applies operations. */

/* Adds the fields of `settings` that the model does not have. Returns as nb_engine_put_model. */
int nb_engine_put_fields(struct nb_engine *engine, struct nb_string model,
                         const struct nb_settings *settings, struct nb_string source,
                         struct nb_error *error);
/* Gives the model the map of `settings`, which was fitted when the model's newest entry was `last`.
 * NB_CONFLICT: the model has changed since. Otherwise as nb_engine_put_model. */
int nb_engine_put_fitted(struct nb_engine *engine, struct nb_string model, uint64_t last,
                         const struct nb_settings *settings, struct nb_error *error);

/* ---- for core alone: entries of the ledger about a model; on the writer's thread --------------
 */

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
