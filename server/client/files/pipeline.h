/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends documents to the daemon in batches, over several connections at the same time, and gives
 * back the results in the order of the documents.
 *
 * One thread owns a pipeline: only that thread calls these functions, and `take` runs on it, so
 * commands need no locks. Inside there is one thread for each connection; a mutex guards the ring
 * of batches.
 */
#ifndef NB_SERVER_CLIENT_FILES_PIPELINE_H
#define NB_SERVER_CLIENT_FILES_PIPELINE_H

#include <jansson.h>

#include "server/client/base/client.h"
#include "server/client/files/files.h"

struct nb_pipeline;

/* Writes documents as the JSON objects that the daemon takes. Any thread. */
/* Appends the object of a document. A mail is sent as base64, which keeps its bytes; in a text each
 * byte that is not UTF-8 becomes U+FFFD. A label that is a set (core/base/label_set.h) is written
 * as the list of its labels. Without `with_label` the label is left out; with it an empty label is
 * written as null. Returns 0 or NB_NO_MEMORY. */
int nb_item_write(const struct nb_item *item, bool with_label, struct nb_buffer *out);

enum { NB_CONNECTIONS_MOST = 64 };

/* The result of one document. All texts are borrowed during the call of `take`. */
struct nb_outcome {
    const char *name;
    const char *label;    /* given with the document; "" if none, like `id` and `row` */
    const char *id, *row; /* see struct nb_item */
    uint64_t bytes;       /* of the document */
    const json_t *result; /* the daemon's object for it, borrowed; NULL when it was refused */
    const char *refusal;  /* why the daemon refused it; NULL: it did not */
    int code;             /* of the refusal */
    uint64_t number;      /* of the document, from 0 */
    uint64_t merged;      /* at the first document of a batch: as the reply tells */
};

struct nb_pipeline_settings {
    const struct nb_client *client;
    const char *path;   /* of the request with {"documents": [...]}, with its query; copied */
    size_t connections; /* 1 to NB_CONNECTIONS_MOST; with 1 the daemon gets them in order, too */
    bool with_label;    /* send the labels of the documents */
    bool has_several;   /* a document may have several results: each is sent alone */
    /* Called for each document in their order. A code below 0 ends the pipeline's work. */
    int (*take)(void *user, const struct nb_outcome *outcome, struct nb_error *error);
    void *user;
};

/* Starts the threads. `settings` is copied; its client is borrowed until nb_pipeline_close. Returns
 * 0 or NB_NO_MEMORY. */
int nb_pipeline_open(const struct nb_pipeline_settings *settings, struct nb_pipeline **pipeline,
                     struct nb_error *error);

/* Adds a document, which is copied. Blocks while all connections have work waiting. Returns 0, what
 * `take` returned, or the code of a failure that concerns all documents (NB_CALL_UNREACHABLE ...).
 */
int nb_pipeline_add(struct nb_pipeline *pipeline, const struct nb_item *item,
                    struct nb_error *error);

/* Sends the rest and waits for all results. Returns as nb_pipeline_add. */
int nb_pipeline_finish(struct nb_pipeline *pipeline, struct nb_error *error);

/* Stops the threads, frees the pipeline and sets *pipeline to NULL; *pipeline may be NULL. Results
 * that were not taken yet are lost. */
void nb_pipeline_close(struct nb_pipeline **pipeline);

#endif
