/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients of this node wait for: operations that were published. A client has its answer when
 * its message has come back from the stream, which has it on its disk then, and is applied and on
 * this node's disk, too. The caller locks.
 */
#ifndef NB_CORE_NODES_AWAITED_H
#define NB_CORE_NODES_AWAITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/nodes/operation.h"

struct nb_batch;

/* A batch whose changes were published. */
struct nb_sent {
    struct nb_batch *batch; /* the client's */
    void (*done)(struct nb_batch *, void *);
    void *user;
    size_t left; /* changes without an answer */
};

/* An errand that was published; its client's thread waits. */
struct nb_asked {
    bool is_done;
    struct nb_errand_done done;
    int code;
    struct nb_error error;
};

struct nb_awaited {
    struct nb_awaited *next;          /* of its bucket */
    struct nb_awaited *older, *newer; /* by time, unless it is held */
    uint64_t number;                  /* in the id of its message */
    uint64_t until;                   /* nb_clock_monotonic */
    bool is_held;                     /* it came back, and is not on the disk yet */
    struct nb_sent *sent;             /* of a change, with ... */
    size_t index;                     /* ... its place in the batch; */
    struct nb_asked *asked;           /* or of an errand */
};

enum { NB_AWAITED_BUCKETS = 4096 };

struct nb_awaiting {
    uint64_t instance; /* random: in the ids of this node since its start */
    uint64_t next;     /* number */
    struct nb_awaited *oldest, *newest;
    struct nb_awaited *buckets[NB_AWAITED_BUCKETS];
};

/* Adds an entry, which the list owns, with the next number. NULL: out of memory. */
struct nb_awaited *nb_awaiting_add(struct nb_awaiting *awaiting, uint64_t until);
/* Writes the id of the entry's message. */
void nb_awaiting_id(const struct nb_awaiting *awaiting, const struct nb_awaited *entry,
                    char id[NB_MESSAGE_ID_MOST]);
/* The entry of an id. NULL: it is not of this node, or nobody waits. */
struct nb_awaited *nb_awaiting_find(const struct nb_awaiting *awaiting, struct nb_string id);
/* The oldest one, if it has waited until `now`, and is not held. */
struct nb_awaited *nb_awaiting_expired(const struct nb_awaiting *awaiting, uint64_t now);
/* It came back: what becomes of it is known soon, so it does not expire. */
void nb_awaiting_hold(struct nb_awaiting *awaiting, struct nb_awaited *entry);
/* Removes the entry, which is the caller's to free then. */
void nb_awaiting_remove(struct nb_awaiting *awaiting, struct nb_awaited *entry);

#endif
