/* SPDX-License-Identifier: Apache-2.0
 *
 * Train and untrain: changes that are gathered, handed to the writer in rounds, and their receipts.
 * A training belongs to one request.
 */
#ifndef NB_SERVER_API_TRAIN_H
#define NB_SERVER_API_TRAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/request/route.h"

struct nb_batch;
struct nb_json_document;
struct nb_results;

struct nb_training {
    struct nb_results *results; /* borrowed: where the receipts go */
    struct nb_string source;    /* of documents that name none; the request's */
    struct nb_batch *batch;     /* owned; NULL between rounds */
    struct nb_error **places;   /* owned, each: the error in this place, or NULL for a receipt */
    size_t count, room;
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

/* Hands what has gathered to the writer: NB_WAIT; `again` then goes on with nb_training_write. 0:
 * nothing has to be handed over, and nb_training_write may be called at once. NB_STOPPING. */
int nb_training_submit(struct nb_training *training, nb_handler *again, struct nb_error *error);

/* Writes the receipts and errors of a round and begins the next one. When the store took none of
 * the changes of a request that has not answered yet, the request fails with the reason. */
int nb_training_write(struct nb_training *training, struct nb_error *error);

#endif
