/* SPDX-License-Identifier: Apache-2.0
 *
 * One way to judge a model on a corpus: what is trained and what is tested, on models of its own
 * that are deleted afterwards. One thread.
 */
#ifndef NB_CLIENT_TRIAL_H
#define NB_CLIENT_TRIAL_H

#include <jansson.h>

#include "server/client/corpus.h"

struct nb_trial {
    struct nb_client *client; /* its model's name is changed */
    struct nb_corpus *corpus;
    const json_t *settings; /* of the models */
    size_t positive;        /* index of the label that is judged against the others */
    bool is_online;         /* each document is tested, then trained */
    bool is_by_part;        /* the index says what is trained and what is tested */
    double split;           /* share that is trained; 0: not split */
    size_t folds;           /* each share is tested once, by a model of the others; 0: not so */
    const char *title;      /* for the progress bar */
};

/* Returns 0 with the figures, an object as the daemon's own `windows` hold it. */
int nb_trial_run(const struct nb_trial *trial, json_t **figures, struct nb_error *error);

/* Ctrl-C and SIGTERM end a trial, and the models are deleted all the same. */
void nb_trial_catch_signals(void);

#endif
