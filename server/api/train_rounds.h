/* SPDX-License-Identifier: Apache-2.0
 *
 * Train and untrain: changes that are gathered, handed to the writer in rounds, and their receipts.
 * A training belongs to one request.
 */
#ifndef NB_SERVER_API_TRAIN_ROUNDS_H
#define NB_SERVER_API_TRAIN_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/http/request/request.h"

struct nb_batch;
struct nb_json_document;
struct nb_results;
struct nb_round;

/* A document of a round. */
struct nb_train_reply {
    struct nb_error *error; /* owned: why it is not learned; NULL: its receipt tells */
    const char *warning;    /* as of nb_json_document */
};

/* The documents of a round, in order. */
struct nb_posted_documents {
    struct nb_batch *batch;        /* owned; NULL: it has no change */
    struct nb_train_reply *places; /* owned */
    size_t count, room;
};

struct nb_training {
    struct nb_results *results;      /* borrowed: where the receipts go */
    struct nb_string source;         /* of documents that name none; the request's */
    struct nb_posted_documents next; /* what gathers */
    struct nb_posted_documents sent; /* of a stream: what the writer has; `round` has its batch */
    struct nb_round *round;          /* owned, or NULL */
};

/* Begins a training whose receipts go to `results` (borrowed). NB_UNUSABLE (the model's name, the
 * source), or NB_STOPPING: too many changes wait. */
int nb_training_init(struct nb_training *training, struct nb_results *results,
                     const struct nb_request *request, struct nb_error *error);

void nb_training_deinit(struct nb_training *training);

/* Adds a document, tokenized on this thread. A failure of this document alone takes its place in a
 * batch or among the lines and is 0 here; otherwise the code fails the request. */
int nb_training_add(struct nb_training *training, const struct nb_json_document *document,
                    struct nb_error *error);

/* Puts an error in the next document's place. 0, or NB_NO_MEMORY. */
int nb_training_add_error(struct nb_training *training, const struct nb_error *why,
                          struct nb_error *error);

/* Whether enough has gathered for a round of a stream. */
bool nb_training_is_full(const struct nb_training *training);

/* For a stream: waits until the round before is on disk, writes its receipts, and hands over what
 * has gathered since, so that the request takes further lines while the writer is at work. NB_WAIT:
 * `again`, which has to call this again, goes on. Else 0, or what fails the request: NB_STOPPING,
 * or the store's reason if it took nothing and no line was answered before. */
int nb_training_turn(struct nb_training *training, nb_handler *again, struct nb_error *error);
/* Whether all that was gathered is answered. */
bool nb_training_is_done(const struct nb_training *training);

/* For a whole body: hands what has gathered to the writer: NB_WAIT; `again` then goes on with
 * nb_training_write. 0: nothing has to be handed over, and nb_training_write may be called at once.
 * NB_STOPPING. */
int nb_training_submit(struct nb_training *training, nb_handler *again, struct nb_error *error);

/* For a whole body: writes the receipts and errors. When the store took none of the changes, the
 * request fails with the reason. */
int nb_training_write(struct nb_training *training, struct nb_error *error);

#endif
