/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation: a change as it travels between nodes, either of a document, with its features as
 * ids and counts, or of a model (core/model/relayed.h). Models and labels are given by name;
 * the time is that of the node that received the request. Any thread.
 *
 * Written form (core/base/buffer.h). Every operation begins with
 *
 *     2 bytes  NB_OPERATION_MAGIC: other bytes are no operation, whatever follows
 *     1 byte   format, NB_OPERATION_FORMAT
 *     1 byte   kind, enum nb_relayed_change_kind
 *
 * The members follow, as operation.c lists them, numbers as varints and texts as strings: first the
 * members of all operations, then those of changes of documents or of models. A change of a
 * document goes on with the number of its features (a varint), and for each feature, in ascending
 * order of ids,
 *
 *     8 bytes  id
 *     varint   twice its count, plus 1 if its text follows
 *     string   text
 *
 * Ids are hashes, so differences of ids would save no bytes. A text is sent if the feature is new
 * to the sender's store; a receiver stores the texts of features that are new to it.
 */
#ifndef NB_CORE_NODES_OPERATION_H
#define NB_CORE_NODES_OPERATION_H

#include "core/base/buffer.h"
#include "core/model/relayed.h"
#include "core/writer/batch.h"

#define NB_OPERATION_MAGIC "bo"
enum {
    NB_OPERATION_FORMAT = 7,
    /* Raised whenever the same operations would give other counts, labels or weights: nodes of
     * different versions do not share a stream (server/nodes/stream.c). */
    NB_APPLY_VERSION = 5,
};

enum {
    NB_OPERATION_MOST = 8 << 20, /* bytes */
    NB_MESSAGE_ID_MOST = 40      /* bytes of the id of a message, with a NUL */
};

/* An operation as a value. The members of `change` are as in a batch (core/writer/batch.h); of its
 * member `relayed` only time, first_entry, creates and last are used. Changes of a model use
 * change.relayed.time, too. All texts of a change of a model are borrowed. */
struct nb_operation {
    struct nb_relayed_change relayed_change; /* all kinds use `kind`, `model` and `source` */
    struct nb_submitted change;
};

/* Writes the operation to `out`, which is empty. Returns 0, NB_NO_MEMORY or NB_TOO_LARGE: it has
 * more than NB_OPERATION_MOST bytes. */
int nb_operation_write(const struct nb_operation *operation, struct nb_buffer *out,
                       struct nb_error *error);
/* Reads an operation. Checks that names, labels, ids and sources of a change of a document are ones
 * that a client may send, and that features are distinct; the engine checks changes of a model. All
 * features go to the change's `others`. The caller deinits `operation` in any case. Returns 0,
 * NB_NO_MEMORY, NB_CORRUPT (the bytes are no operation) or NB_VERSION (the format or the kind is
 * unknown). */
int nb_operation_read(struct nb_operation *operation, struct nb_string written,
                      struct nb_error *error);
void nb_operation_deinit(struct nb_operation *operation);

/* Makes an operation, which borrows its contents, of a change of the batch. `last`: as in struct
 * nb_relayed. Returns 0, NB_DAMAGED (the model) or a code of the store. */
int nb_operation_of_change(const struct nb_batch *batch, size_t index, uint64_t last,
                           struct nb_operation *operation, struct nb_error *error);

/* Writes the id of a message: a letter (n: of a running node; q: of a queue; p: a proposal of
 * all nodes), the number `of` of the sender, and the message's own number. */
void nb_message_id(char letter, uint64_t of, uint64_t number, char id[NB_MESSAGE_ID_MOST]);
/* Reads an id of a message. Returns false if it is no id with this letter. */
bool nb_message_id_read(struct nb_string id, char letter, uint64_t *of, uint64_t *number);

#endif
