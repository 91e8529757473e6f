/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents on their way into the engine and their receipts on the way back: one, a batch, or a
 * stream of lines in rounds of bounded size. Belongs to one request.
 */
#ifndef NB_SERVER_TRAIN_H
#define NB_SERVER_TRAIN_H

#include <stdbool.h>

#include "core/engine/engine.h"
#include "server/codec.h"
#include "server/request.h"

enum nb_training_form {
    NB_TRAINING_SINGLE, /* the reply is the receipt */
    NB_TRAINING_BATCH,  /* {"results": [...]} */
    NB_TRAINING_LINES   /* one receipt a line */
};

struct nb_training;

/* Makes request->state a training. */
int nb_training_new(struct nb_request *request, enum nb_training_form form,
                    struct nb_training **training, struct nb_error *error);

/* Adds a document, tokenized on this thread. A failure of this document alone takes its place in a
 * batch or among the lines and is 0 here; otherwise the code fails the request. */
int nb_training_add(struct nb_training *training, const struct nb_codec_document *document,
                    struct nb_error *error);

/* Puts an error in the next document's place. */
int nb_training_add_error(struct nb_training *training, const struct nb_error *error);

/* Whether enough has gathered for a round of a stream. */
bool nb_training_is_full(const struct nb_training *training);

/* Hands what has gathered to the writer and suspends the request: NB_WAIT; the request then goes on
 * in request->again, which writes the receipts. 0 when nothing had to be handed over; a code fails
 * the request. */
int nb_training_submit(struct nb_training *training, struct nb_error *error);

/* Ends a stream's reply. */
int nb_training_end(struct nb_training *training, struct nb_error *error);

#endif
