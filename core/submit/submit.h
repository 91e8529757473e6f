/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes on their way to the writer: validated, tokenized and looked up on the caller's thread, in
 * parallel; only the merge is the writer's (nb_engine_submit in core/engine/engine.h).
 */
#ifndef NB_CORE_SUBMIT_SUBMIT_H
#define NB_CORE_SUBMIT_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/stage/receipt.h"
#include "tokenizer/document.h"

struct nb_engine;

/* Changes to one model that are submitted together. One thread at a time. */
struct nb_batch;

/* `single` says that the receipt of its one change shall list all labels of the model, not only
 * those that were touched. The model need not exist yet (see auto_create). Returns 0, NB_UNUSABLE
 * (bad name) or NB_NO_MEMORY. */
int nb_batch_new(struct nb_engine *engine, struct nb_string model, bool single,
                 struct nb_batch **batch, struct nb_error *error);
void nb_batch_free(struct nb_batch **batch);

/* Adds a change of the label alone: of the learned or stored document `id`, whose content stays as
 * it is. Where there is none, and the model's history has a verdict about the document, it is
 * trained as the history keeps it. `label` as for nb_batch_train. NB_UNUSABLE: it would have to
 * wait in the quarantine, too. NB_NOT_FOUND in the receipt: there is no such document.
 * Errors: as nb_batch_untrain. */
int nb_batch_label(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                   struct nb_string source, struct nb_error *error);
/* The same without the history, if the document's living entry still has the number `entry`, above
 * 0. NB_CONFLICT in the receipt: the document has changed since, and stays as it is. */
int nb_batch_label_entry(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                         struct nb_string label, struct nb_string source, struct nb_error *error);
/* Adds a change that takes a document back: by `id`, or with length 0 by the id that would be made
 * from the content of `document`. Errors: as nb_batch_train. NB_NOT_FOUND: no such model. */
int nb_batch_untrain(struct nb_batch *batch, const struct nb_document *document,
                     struct nb_string id, struct nb_string source, struct nb_error *error);

/* Adds a change that forgets the document `id` altogether: it is taken back, if it is learned or
 * stored, and what the history has of it is removed. The receipt says NB_FORGOTTEN if there was
 * either. A verdict that still waits to be written comes behind the change (core/history/write.h
 * has nb_engine_history_write). Errors: as nb_batch_untrain. */
int nb_batch_forget(struct nb_batch *batch, struct nb_string id, struct nb_string source,
                    struct nb_error *error);

/* Adds a change that takes back what the ledger entry `taken` did to the document `id`: the
 * document is again as the entry `restored` had it, with that entry's source and time; with 0, or
 * when the ledger does not hold that entry any more, it is forgotten. The receipt says which:
 * NB_RELABELLED or NB_UPDATED, or NB_FORGOTTEN. NB_CONFLICT in the receipt: the document has
 * changed since `taken`, and stays as it is. Errors: as nb_batch_untrain. */
int nb_batch_take_back(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                       uint64_t restored, struct nb_string source, struct nb_error *error);
/* Adds a note to the ledger (NB_CHANGE_UNDO): `asked`, at most 1,024 bytes, and how many documents
 * the changes behind it in the batch take back. */
int nb_batch_note(struct nb_batch *batch, struct nb_string asked, uint32_t documents,
                  struct nb_string source, struct nb_error *error);

/* Whether the changes that are added from now on wait in the quarantine of the model, which must
 * exist, until they are applied or dropped (core/quarantine/quarantine.h): their receipts say
 * NB_QUARANTINED. One that waits for the same id already is replaced. NB_TOO_LARGE in the receipt:
 * the quarantine is full. */
void nb_batch_quarantine(struct nb_batch *batch, bool quarantined);
/* Adds the change `stored` (core/store/quarantine.h), which waits in the quarantine for the
 * document `id`. When it is made, it leaves the quarantine, in the same transaction. NB_CONFLICT,
 * with the status NB_QUARANTINED, in the receipt: it does not wait there any more. Returns 0,
 * NB_CORRUPT, NB_NOT_FOUND (model) ... */
int nb_batch_release(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                     struct nb_error *error);

size_t nb_batch_size(const struct nb_batch *batch);
/* Bytes of memory that the batch holds, to bound what one connection may queue. */
size_t nb_batch_memory(const struct nb_batch *batch);

const struct nb_receipt *nb_batch_receipt(const struct nb_batch *batch, size_t index);
/* Of a batch of nb_batch_label_entry that was applied: adds to *changed how many documents got
 * their label. Those that were changed or forgotten meanwhile stay as they are, and do not count.
 * Returns 0, or the first other code of a receipt, with its error. */
int nb_batch_count_changed(const struct nb_batch *batch, uint64_t *changed, struct nb_error *error);

#endif
