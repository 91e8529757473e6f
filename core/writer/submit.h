/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes on their way to the writer. They are validated, tokenized and looked up on the callers'
 * threads, in parallel; the writer only applies them (nb_engine_submit in core/writer/writer.h;
 * nb_batch_train in core/writer/model_changes.h adds a document).
 */
#ifndef NB_CORE_WRITER_SUBMIT_H
#define NB_CORE_WRITER_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/writer/batch.h"
#include "tokenizer/document.h"

struct nb_bag;
struct nb_batch;
struct nb_engine;
struct nb_live;

/* Returns the name of the status in replies and reports: "learned" ... */
const char *nb_status_name(enum nb_status status);

/* Changes to one model that are submitted together. One thread at a time. */

/* Makes an empty batch; the caller frees it. `single`: the batch has one change, whose receipt
 * lists all labels of the model, not only those that changed. The model need not exist yet (see
 * auto_create). Returns 0, NB_UNUSABLE (bad name) or NB_NO_MEMORY. */
int nb_batch_new(struct nb_engine *engine, struct nb_string model, bool single,
                 struct nb_batch **batch, struct nb_error *error);
/* As nb_batch_new, but for exactly this model, which the caller has loaded and references, even if
 * another model has its name by now. NB_NOT_FOUND in the receipts: the model was deleted or
 * replaced. */
int nb_batch_new_of(struct nb_engine *engine, struct nb_live *live, struct nb_batch **batch,
                    struct nb_error *error);
void nb_batch_free(struct nb_batch **batch);

/* A document whose bag the caller has made, for exactly this model. All borrowed. */
struct nb_bag_document {
    struct nb_string id, source;
    struct nb_string label; /* length 0: the document is stored without one */
    struct nb_bag *bag;     /* with positions and `truncated`; unchanged afterwards */
    uint64_t judged;        /* as in struct nb_change */
};
/* As nb_batch_train, for a batch of nb_batch_new_of. Returns 0, NB_UNUSABLE (source) or
 * NB_NO_MEMORY. */
int nb_batch_train_bag(struct nb_batch *batch, const struct nb_bag_document *document,
                       struct nb_error *error);
/* Adds a change of the label of the learned or stored document `id`; its content stays the same. If
 * there is no such document but the model's history has a verdict about it, it is trained with the
 * content in the history. `label` as for nb_batch_train. NB_UNUSABLE, besides other reasons: the
 * change would have to wait in the quarantine. NB_NOT_FOUND in the receipt: there is no such
 * document. Errors: as nb_batch_untrain. */
int nb_batch_label(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                   struct nb_string source, struct nb_error *error);
/* As nb_batch_label, but without the history, and only if the document's current entry still has
 * the number `entry`, above 0. NB_CONFLICT in the receipt: the document has changed since, and
 * stays as it is. */
int nb_batch_label_entry(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                         struct nb_string label, struct nb_string source, struct nb_error *error);
/* Adds a change that removes (untrains) a document: by `id`, or if its length is 0, by the id made
 * from the content of `document`. Errors: as nb_batch_train. NB_NOT_FOUND: no such model;
 * NB_STOPPING: another node may have it (nb_relay_catch_up). */
int nb_batch_untrain(struct nb_batch *batch, const struct nb_document *document,
                     struct nb_string id, struct nb_string source, struct nb_error *error);

/* Adds a change that forgets the document `id` completely: it is untrained, if it is learned or
 * stored, and its records in the history are removed. The receipt says NB_FORGOTTEN if there was
 * either. A verdict that still waits to be written is written after the change (see
 * nb_engine_history_write in core/jobs/history/history_listing.h). Errors: as nb_batch_untrain. */
int nb_batch_forget(struct nb_batch *batch, struct nb_string id, struct nb_string source,
                    struct nb_error *error);

/* Adds a change that undoes the ledger entry `taken` of the document `id`: restores the document as
 * of the entry `restored`, with that entry's source and time. If `restored` is 0 or no longer in
 * the ledger, the document is forgotten. The receipt says NB_RELABELLED or NB_UPDATED, or
 * NB_FORGOTTEN. NB_CONFLICT in the receipt: the document has changed since `taken`, and stays as it
 * is. Errors: as nb_batch_untrain. */
int nb_batch_take_back(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                       uint64_t restored, struct nb_string source, struct nb_error *error);
/* Adds a note of an undo to the ledger (NB_CHANGE_UNDO): `asked` is the request, at most 1,024
 * bytes, and `documents` the number of documents that the following changes of the batch undo. */
int nb_batch_note(struct nb_batch *batch, struct nb_string asked, uint32_t documents,
                  struct nb_string source, struct nb_error *error);

/* Sets whether changes that are added from now on go to the quarantine of the model, which must
 * exist. They wait there until they are applied or dropped (core/jobs/quarantine/quarantine.h), and
 * their receipts say NB_QUARANTINED. A change that already waits for the same id is replaced.
 * NB_TOO_LARGE in the receipt: the quarantine is full. */
void nb_batch_quarantine(struct nb_batch *batch, bool quarantined);
/* Adds the change `stored` (core/ledger/quarantine_entries.h) of the document `id`, which
 * waits in the quarantine. The transaction that applies it also removes it from the quarantine.
 * NB_CONFLICT, with the status NB_QUARANTINED, in the receipt: it is no longer there. Returns 0,
 * NB_CORRUPT, NB_NOT_FOUND (model) ... */
int nb_batch_release(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                     struct nb_error *error);

size_t nb_batch_size(const struct nb_batch *batch);
/* Bytes of memory of the batch, to bound what one connection may queue. */
size_t nb_batch_memory(const struct nb_batch *batch);

const struct nb_receipt *nb_batch_receipt(const struct nb_batch *batch, size_t index);
/* For a batch of nb_batch_label_entry changes that was applied: adds to *changed the number of
 * documents that got their label. Documents that were changed or forgotten meanwhile are not
 * counted. Returns 0, or the first other code of a receipt, with its error. */
int nb_batch_count_changed(const struct nb_batch *batch, uint64_t *changed, struct nb_error *error);

/* ---- for core/writer, core/engine and core/nodes alone --------------------------------------- */

/* Adds a change that forgets the document of the current entry `taken` because of its age. On the
 * writer's thread. Errors: as nb_batch_untrain. */
int nb_batch_age(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                 struct nb_error *error);

/* Makes the id of a document that came without one, from its content. Returns 0 or NB_NO_MEMORY. */
int nb_batch_make_id(const struct nb_key *key, const struct nb_document *document,
                     char made[NB_CONTENT_ID_LENGTH + 1]);

/* Adds a REFIT entry: begins a refit of the weights, or runs a slice of the one that is under way.
 * Errors: as nb_batch_untrain. */
int nb_batch_refit(struct nb_batch *batch, enum nb_refit_part part, struct nb_string source,
                   struct nb_error *error);

/* Frees what the change owns. */
void nb_submitted_deinit(struct nb_submitted *change);

/* Adds a change that was made on another node; takes ownership of it, also on failure. A model that
 * does not exist is made unsaved with the settings; whether it may be created is decided when the
 * change is staged. Returns 0, NB_TOO_LARGE (models) or NB_NO_MEMORY. */
int nb_batch_take(struct nb_batch *batch, const struct nb_settings *settings,
                  struct nb_submitted *change, struct nb_error *error);

/* As nb_batch_train, but if the document has fields that must be added to the model's settings
 * first, only sets *needs_fields and returns 0. */
int nb_batch_add(struct nb_batch *batch, const struct nb_document *document, struct nb_string label,
                 struct nb_string id, struct nb_string source, bool *needs_fields,
                 struct nb_error *error);

#endif
