/* SPDX-License-Identifier: Apache-2.0
 *
 * Judges a model on a corpus: trains a part of it and tests another one, on models made for this,
 * which are deleted afterwards; or tests a model that there is. One thread.
 */
#ifndef NB_CLIENT_TRIAL_H
#define NB_CLIENT_TRIAL_H

#include <jansson.h>

#include "server/client/evaluate/labelled_corpus.h"

struct nb_trial {
    struct nb_client *client; /* borrowed; the name of its model is changed during the trial */
    struct nb_labelled_corpus *corpus;
    const json_t *settings; /* of the models */
    bool is_of_model;       /* the client's model is tested on all documents, and stays as it is */
    size_t positive;        /* index of the label that is judged against the others */
    bool is_online;         /* each document is tested, then trained */
    bool is_by_part;        /* the index says what is trained and what is tested */
    double split;           /* the share that is trained, the others are tested; 0: not so */
    size_t folds;      /* each of so many shares is tested by a model of the others; 0: not so */
    const char *title; /* for the progress bar */
};

/* Runs the trial. Returns 0 with the figures (evaluation_json.h), owned by the caller, or a code:
 * NB_STOPPING after a signal that nb_interrupt_catch has noted. The model is deleted in any case.
 */
int nb_trial_run(const struct nb_trial *trial, json_t **figures, struct nb_error *error);

#endif
