/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of a change of a document.
 */
#ifndef NB_CORE_WRITER_STAGE_RECEIPT_H
#define NB_CORE_WRITER_STAGE_RECEIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/label/difference.h"
#include "core/base/string.h"

struct nb_batch;

enum nb_status {
    NB_LEARNED,
    NB_UNCHANGED,
    NB_RELABELLED,
    NB_UPDATED,
    NB_FORGOTTEN,
    NB_NEAR_DUPLICATE, /* not learned: enough near-duplicates are already */
    NB_QUARANTINED,    /* kept, and not applied: it waits for an administrator */
    NB_STORED,         /* without a label: counted nowhere */
    NB_QUEUED,         /* kept on disk until the stream that nodes share is back */
    NB_STATUSES
};

/* "learned" ... as replies and reports name it. */
const char *nb_status_name(enum nb_status status);

struct nb_label_documents {
    const char *label; /* NUL-terminated, stable while the batch lives */
    uint64_t documents;
};

/* What a change did. */
struct nb_receipt {
    int code; /* 0, or why this one change was not made: NB_NOT_FOUND (untrain of an
                 unknown id, model deleted), NB_TOO_LARGE (labels, rows), NB_DISK_FULL,
                 NB_IO, NB_STOPPING ... with `error` filled; nothing was changed */
    struct nb_error error;
    enum nb_status status;
    struct nb_string id;             /* owned by the batch */
    struct nb_string label;          /* length 0: it has none */
    struct nb_string previous_label; /* with NB_RELABELLED, else length 0, as of no label */
    struct nb_string twin;           /* with NB_NEAR_DUPLICATE: the id of the nearest; owned by the
                                        batch; length 0: its entry does not read back */
    double similarity;               /* to it, estimated */
    uint64_t tokens;                 /* token positions counted */
    uint64_t new_tokens;             /* distinct tokens that came into the vocabulary */
    uint64_t number;                 /* its place in the stream that nodes share; else 0 */
    bool truncated;
    /* Of a label whose first document this is: one with documents that is probably meant; of no
     * length: there is none among those that are compared. */
    struct nb_string near_label;
    enum nb_label_difference difference; /* from that */
    struct nb_label_documents *labels;   /* after this change; owned by the batch; sorted by name */
    size_t label_count;
};

/* Called once, on the writer's thread, when every change of the batch is on disk and in force, or
 * has failed. Must be quick and must not call the engine. */
typedef void nb_batch_done(struct nb_batch *batch, void *user);

#endif
