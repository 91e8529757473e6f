/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents go to the daemon in batches, over several connections at the same time, and the results
 * come back in the order of the documents.
 *
 * One thread owns the pipeline: it alone calls these functions, and `take` is called on it alone,
 * so that commands need no locks. Inside there is one thread for each connection; a mutex guards
 * the ring of batches.
 */
#ifndef NB_CLIENT_PIPELINE_H
#define NB_CLIENT_PIPELINE_H

#include <jansson.h>

#include "server/client/client.h"
#include "server/client/item.h"

enum { NB_CONNECTIONS_MOST = 64 };

/* What became of one document. */
struct nb_outcome {
    const char *name;
    const char *label;    /* that the document came with; "" without one */
    uint64_t bytes;       /* of the document */
    const json_t *result; /* the daemon's object for it; NULL: there is none */
    const char *refusal;  /* why it was not taken; NULL: it was */
    int code;             /* that goes with the refusal */
    uint64_t number;      /* from 0 */
};

struct nb_pipeline_settings {
    const struct nb_client *client;
    const char *path;   /* that takes {"documents": [...]}, with its query; copied */
    size_t connections; /* 1 keeps the order of the documents in the daemon too */
    bool with_label;    /* the documents' labels are sent */
    /* A code below 0 ends all; it may be that of an outcome, or of its own. */
    int (*take)(void *user, const struct nb_outcome *outcome, struct nb_error *error);
    void *user;
};

struct nb_pipeline;

int nb_pipeline_open(const struct nb_pipeline_settings *settings, struct nb_pipeline **pipeline,
                     struct nb_error *error);

/* Adds a document. Blocks while every connection has work waiting. Returns 0, what `take` returned,
 * or why no document can be sent at all (NB_CLIENT_UNREACHABLE ...). */
int nb_pipeline_add(struct nb_pipeline *pipeline, const struct nb_item *item,
                    struct nb_error *error);

/* Sends what is left and waits for all results. */
int nb_pipeline_finish(struct nb_pipeline *pipeline, struct nb_error *error);

/* Gives up what is not finished; NULL is allowed. */
void nb_pipeline_close(struct nb_pipeline **pipeline);

#endif
