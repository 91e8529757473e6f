/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates a model on a corpus. Trains temporary models on one part, tests them on another, and
 * deletes them afterwards; or tests an existing model. One thread.
 */
#ifndef NB_CLIENT_TRIAL_H
#define NB_CLIENT_TRIAL_H

#include <jansson.h>

#include "server/client/evaluate/labelled_corpus.h"

struct nb_trial {
    struct nb_client *client; /* borrowed; the name of its model is changed during the trial */
    struct nb_labelled_corpus *corpus;
    json_t *settings;  /* of the models; borrowed */
    bool is_of_model;  /* the client's model is tested on all documents, and stays as it is */
    size_t positive;   /* index of the label that is judged against the others */
    bool is_online;    /* each document is tested, then trained */
    bool is_by_part;   /* the index file says which documents to train and which to test */
    double split;      /* share of documents to train; the others are tested; 0: no split */
    size_t folds;      /* cross-validation: each fold is tested by a model of the others; 0: none */
    const char *title; /* for the progress bar */
};

/* Runs the trial. Returns 0 with the figures (evaluation_json.h), owned by the caller, or a code:
 * NB_STOPPING after a signal that nb_interrupt_catch has noted. Temporary models are always
 * deleted. */
int nb_trial_run(const struct nb_trial *trial, json_t **figures, struct nb_error *error);

#endif
