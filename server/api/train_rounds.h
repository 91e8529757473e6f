/* SPDX-License-Identifier: Apache-2.0
 *
 * Train and untrain: gathers changes, hands them to the writer in rounds, and writes their
 * receipts. A training belongs to one request.
 */
#ifndef NB_SERVER_API_TRAIN_ROUNDS_H
#define NB_SERVER_API_TRAIN_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/http/request.h"

struct nb_batch;
struct nb_json_document;
struct nb_results;
struct nb_round;

/* A document of a round. */
struct nb_train_reply {
    struct nb_error *error; /* owned: why the document was not learned; NULL: see its receipt */
    const char *warning;    /* as in nb_json_document */
    bool is_nameless;       /* a text without an id: another one like it is the same document */
};

/* The documents of a round, in order. */
struct nb_posted_documents {
    struct nb_batch *batch;        /* owned; NULL: there are no changes */
    struct nb_train_reply *places; /* owned */
    size_t count, room;
};

struct nb_training {
    struct nb_results *results;      /* borrowed: where the receipts go */
    struct nb_string source;         /* the request's source, for documents that name none */
    struct nb_posted_documents next; /* documents that are being gathered */
    struct nb_posted_documents sent; /* documents of `round`, which the writer has (streams only) */
    struct nb_round *round;          /* owned, or NULL */
};

/* Begins a training whose receipts go to `results` (borrowed). Returns 0, NB_UNUSABLE (a bad name
 * of the model or the source) or NB_STOPPING (too many changes wait). */
int nb_training_init(struct nb_training *training, struct nb_results *results,
                     const struct nb_request *request, struct nb_error *error);

void nb_training_deinit(struct nb_training *training);

/* Adds a document, which is tokenized on this thread. In a batch or a stream, an error of this
 * document alone becomes its result, and 0 is returned. Any other code fails the request. */
int nb_training_add(struct nb_training *training, const struct nb_json_document *document,
                    struct nb_error *error);

/* Adds an error as the result of the next document. Returns 0 or NB_NO_MEMORY. */
int nb_training_add_error(struct nb_training *training, const struct nb_error *why,
                          struct nb_error *error);

/* Returns whether enough documents are gathered for a round of a stream. */
bool nb_training_is_full(const struct nb_training *training);

/* For a stream: waits until the previous round is on disk, writes its receipts, and hands over the
 * documents gathered since, so that the request takes further lines while the writer is at work.
 * Returns NB_WAIT, after which `again` must call this function again; 0; or a code that fails the
 * request: NB_STOPPING, or the store's failure if it took no change and no line was answered
 * before. */
int nb_training_turn(struct nb_training *training, nb_handler *again, struct nb_error *error);
/* Returns whether all gathered documents are answered. */
bool nb_training_is_done(const struct nb_training *training);

/* For a whole body: hands the gathered documents to the writer. Returns NB_WAIT, after which
 * `again` goes on with nb_training_write; 0 when there is nothing to hand over, so that
 * nb_training_write may be called at once; or NB_STOPPING. */
int nb_training_submit(struct nb_training *training, nb_handler *again, struct nb_error *error);

/* For a whole body: writes the receipts and errors. When the store took none of the changes, the
 * request fails with the reason. */
int nb_training_write(struct nb_training *training, struct nb_error *error);

#endif
