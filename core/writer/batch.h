/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a batch: changes of documents on their way from a trainer's thread to the
 * writer's. Only one of the two threads uses a batch at a time. For core/writer,
 * core/engine and core/nodes alone.
 */
#ifndef NB_CORE_WRITER_BATCH_H
#define NB_CORE_WRITER_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/names.h"
#include "core/base/string.h"
#include "core/model/apply.h"
#include "core/model/state.h"
#include "tokenizer/bag.h"

struct nb_batch;

/* The outcome of a change of a document. */
enum nb_status {
    NB_LEARNED,
    NB_UNCHANGED,
    NB_RELABELLED,
    NB_UPDATED,
    NB_FORGOTTEN,
    NB_NEAR_DUPLICATE, /* not learned: enough near-duplicates are learned already */
    NB_QUARANTINED,    /* kept, and not applied: it waits for an administrator */
    NB_STORED,         /* without a label: counted nowhere */
    NB_QUEUED,         /* kept on disk until the stream that nodes share is back */
    NB_STATUSES
};

struct nb_label_documents {
    const char *label; /* NUL-terminated, stable while the batch lives */
    uint64_t documents;
};

/* The result of a change. */
struct nb_receipt {
    int code; /* 0, or why this one change was not made: NB_NOT_FOUND (untrain of an
                 unknown id, model deleted), NB_TOO_LARGE (labels, rows), NB_DISK_FULL,
                 NB_IO, NB_STOPPING ... with `error` filled; nothing was changed */
    struct nb_error error;
    enum nb_status status;
    struct nb_string id;    /* owned by the batch */
    struct nb_string label; /* length 0: it has none */
    struct nb_string
        previous_label;       /* with NB_RELABELLED; length 0: it had none, or another status */
    struct nb_string nearest; /* with NB_NEAR_DUPLICATE: the id of the nearest document; owned by
                              the batch; length 0: its entry cannot be read */
    double similarity;        /* estimated similarity to it */
    uint64_t tokens;          /* token positions counted */
    uint64_t new_tokens;      /* distinct tokens that came into the vocabulary */
    uint64_t number;          /* its place in the stream that nodes share; else 0 */
    bool truncated;
    bool created; /* the model began to exist with this change */
    /* If this is the first document of its label: a similar label with documents that is probably
     * meant. Length 0: none of the compared labels is similar. */
    struct nb_string near_label;
    enum nb_label_difference difference; /* difference from `near_label` */
    struct nb_label_documents *labels;   /* after this change, sorted by name; owned by the batch */
    size_t label_count;
};

/* Called once, on the writer's thread, when every change of the batch is on disk and in force, or
 * has failed. Must be quick and must not call the engine. */
typedef void nb_batch_done(struct nb_batch *batch, void *user);

/* A feature of a change that no document had when it was looked up. A batch has a hundred thousand
 * of them, so they are small. */
struct nb_pending {
    uint64_t id;
    uint32_t count;
    uint32_t text_offset : 30; /* offset in the document's texts; the text ends where the next one
                                  begins */
    uint32_t has_row : 1;      /* it had a row, though no document had the feature */
    uint32_t is_foreseen : 1;  /* it had no row, and no earlier change of the batch brings it */
};
_Static_assert(sizeof(struct nb_pending) == 16, "four to a line of the cache");

/* What a submitted change does. Nodes send the numbers to each other: only append. */
enum nb_submitted_kind {
    NB_SUBMITTED_TRAIN,     /* learns the document, or replaces its content and label */
    NB_SUBMITTED_RECALL,    /* as TRAIN, with content from the history; as LABEL if the document is
                               in the ledger by then */
    NB_SUBMITTED_LABEL,     /* changes the label alone; the content stays */
    NB_SUBMITTED_UNTRAIN,   /* takes the document out */
    NB_SUBMITTED_FORGET,    /* as UNTRAIN, and removes the document's records from the history */
    NB_SUBMITTED_TAKE_BACK, /* undoes an entry: restores the document as of an earlier entry */
    NB_SUBMITTED_AGE,       /* takes the document out because of its age */
    NB_SUBMITTED_NOTE,      /* a note of an undo (NB_CHANGE_UNDO) */
    NB_SUBMITTED_REFIT,     /* NB_CHANGE_REFIT */
    NB_SUBMITTED_KINDS
};

/* A submitted change, before the writer assigns its numbers. */
struct nb_submitted {
    enum nb_submitted_kind kind;
    union {
        uint64_t restored;       /* TAKE_BACK: entry to restore; 0: forget the document */
        uint32_t documents;      /* NOTE: number of documents to undo */
        enum nb_refit_part part; /* REFIT */
    };
    uint64_t current; /* LABEL, TAKE_BACK, AGE: number that the document's current entry must have;
                         0: any (LABEL only) */
    struct nb_buffer id;
    struct nb_buffer label; /* NOTE: the request */
    struct nb_buffer source;
    /* TRAIN, RECALL, UNTRAIN, FORGET */
    bool quarantined;          /* it must wait in the quarantine ... */
    struct nb_buffer released; /* ... or it waits there, stored as these bytes, and is applied */
    /* TRAIN, RECALL */
    uint32_t fields; /* tokenizer fields that the bag was made with */
    /* The bag: first the features that documents had, which therefore have rows, ascending; then
     * the others, in order of appearance, with their texts. The rows are valid as long as
     * nb_model_lost_rows still equals lost_rows, or the sum of nb_known_share still equals
     * known_sum. `known` has room for all rows of the document: the writer moves this memory to
     * `delta`, and then `known` is NULL. */
    struct nb_row_count *known; /* owned */
    uint64_t *known_ids;        /* owned; where nodes share their changes, else NULL */
    size_t known_count;
    uint64_t known_sum;
    struct nb_bag_beginning known_bag; /* the beginning of the bag, if no row is lost */
    uint64_t lost_rows;
    uint64_t names;            /* nb_model_named_rows before the look-up */
    struct nb_pending *others; /* owned */
    size_t other_count;
    struct nb_buffer texts;
    size_t foreseen_count;           /* number of others that are likely to be new ... */
    struct nb_buffer foreseen_texts; /* ... their texts by nb_features_encode; empty: not done */
    uint64_t positions;
    uint64_t judged; /* as in struct nb_change */
    bool is_judged;  /* `judged` is given: the document is not judged here */
    bool truncated;
    struct nb_relayed relayed; /* set for a change from the stream that nodes share */
    struct nb_receipt receipt;
    /* Used by the writer, until the commit. */
    struct nb_buffer nearest; /* of a near-duplicate: the id of the nearest document */
    bool keeps_content;       /* LABEL; RECALL of a document that is in the ledger */
    bool staged;              /* its entry is written */
    bool applied;             /* the counts are changed, too */
    struct nb_delta delta;    /* the change of the counts */
    uint32_t label_number;
};

/* Memory for looking up the features of a bag, used for one bag after the other; `{0}` is empty. */
struct nb_bag_rows {
    uint32_t *rows; /* owned, as the others; each has `room` */
    bool *unused;
    struct nb_row_count *spare, *scratch;
    size_t room;
    struct nb_buffer bag; /* scratch for its stored form */
};

/* The features that changes of a batch bring first; `{0}` is empty. */
struct nb_foreseen {
    uint32_t *slots; /* owned, in groups of four: the lower halves of the ids, placed by their
                        lowest bits; 0: free. `room` is a power of two, or 0 */
    size_t count, room;
    uint64_t *ids;           /* owned; ids of one change's features ... */
    struct nb_string *texts; /* ... and their texts; owned */
    size_t ids_room, texts_room;
};

/* Work that waits for the writer: a batch, or a task that runs on its thread. */
struct nb_job {
    struct nb_job *next;
    struct nb_batch *batch;
    nb_batch_done *done;
    void *user;
    int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error);
    void *argument;
    struct nb_error *error;
    int code;
    const struct nb_relayed *relayed; /* of a task from the stream that nodes share; or NULL */
    bool finished;                    /* the task is finished; under the queue's lock */
};

/* Tells whether only the changes of the batch itself have brought features since its look-ups;
 * `{0}` is the state before the first change. */
struct nb_naming {
    bool has_begun;
    bool is_mixed;   /* other changes have brought features, or rows were lost */
    uint64_t before; /* nb_model_named_rows when the changes were looked up, and ... */
    uint64_t names;  /* ... after the last of them */
};

struct nb_batch {
    struct nb_job job;
    struct nb_engine *engine;
    struct nb_live *live; /* NULL until the first change */
    unsigned pin;         /* index of the one of live->epoch.pins that the batch holds */
    struct nb_buffer name;
    bool single;
    bool quarantined; /* changes that are added go to the quarantine */
    struct nb_submitted *changes;
    size_t size, room;
    size_t memory;
    struct nb_bag scratch;
    struct nb_bag_rows scratch_rows;
    struct nb_stack_inputs scratch_inputs;
    struct nb_foreseen *foreseen; /* owned; NULL until a feature is new */
    size_t written;               /* the writer's: number of changes that are done */
    struct nb_naming naming;      /* the writer's */
    struct nb_batch *carried;     /* owned, a list: batches that its receipts borrow from */
};

/* Returns the text of the feature change->others[i]. */
static inline struct nb_string nb_submitted_text(const struct nb_submitted *change, size_t i)
{
    size_t from = change->others[i].text_offset;
    size_t end =
        i + 1 < change->other_count ? change->others[i + 1].text_offset : change->texts.length;
    return end == from ? nb_string_of("")
                       : (struct nb_string){change->texts.bytes + from, end - from};
}

/* Returns the share of a feature with a row in nb_submitted.known_sum. Ids are hashes under a
 * secret key, so other features, or the same ones with exchanged counts, have another sum. Numbers
 * of attributes are not hashes, and a client could choose some with equal sums. The only effect
 * would be that, after a failed commit, its own document is learned with other numbers. */
static inline uint64_t nb_known_share(uint64_t id, uint32_t count)
{
    return id * (2 * (uint64_t)count + 1);
}

/* Whether the change asks to take the document out. */
static inline bool nb_submitted_is_untrain(const struct nb_submitted *change)
{
    return change->kind == NB_SUBMITTED_UNTRAIN || change->kind == NB_SUBMITTED_FORGET;
}

/* Whether the change is one of a document. */
static inline bool nb_submitted_has_document(const struct nb_submitted *change)
{
    return change->kind != NB_SUBMITTED_NOTE && change->kind != NB_SUBMITTED_REFIT;
}

/* Returns the number of features of the document. */
static inline size_t nb_submitted_size(const struct nb_submitted *change)
{
    return change->known_count + change->other_count;
}

#endif
