/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine does for several nodes that share their changes (core/nodes). Changes are
 * published in one order for all nodes, a stream; every node, including the one that got the
 * request, applies them in that order. Here are changes as they travel, the relays that take
 * changes to the other nodes, and how far a store has come in each stream. If changes are not
 * shared, relays are NULL and cost nothing.
 */
#ifndef NB_CORE_MODEL_RELAYED_H
#define NB_CORE_MODEL_RELAYED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_batch;
struct nb_engine;
struct nb_live;
struct nb_view;

/* ---- changes --------------------------------------------------------------------------------- */

enum nb_relayed_change_kind {
    NB_RELAYED_CHANGE_NONE,         /* a change of a document; the others are not about documents */
    NB_RELAYED_CHANGE_PUT,          /* makes a model, or changes its settings */
    NB_RELAYED_CHANGE_DELETE,       /* deletes a model */
    NB_RELAYED_CHANGE_RENAME_LABEL, /* renames `from` to `to` */
    NB_RELAYED_CHANGE_FIELDS,       /* adds the fields in `settings` that the model lacks */
    NB_RELAYED_CHANGE_FITTED,       /* sets `settings`, with a map fitted to entries up to `last` */
    NB_RELAYED_CHANGE_COMPARE,      /* changes nothing: nodes compare what they have learned */
    NB_RELAYED_CHANGE_PUT_NAMED,    /* stores `settings`, of the kind `from`, as `model` */
    NB_RELAYED_CHANGE_DELETE_NAMED, /* deletes the value of the kind `from` named `model` */
    NB_RELAYED_CHANGE_DROP,         /* drops quarantined changes: nb_quarantine_drop_listed */
    NB_RELAYED_CHANGE_PART,         /* keeps `settings`, part `last` of the import `from` */
    NB_RELAYED_CHANGE_IMPORT, /* imports the `last` parts of `from`, or copies the model `to` */
    NB_RELAYED_CHANGES
};

/* All texts are borrowed. A member that the kind does not use is empty. */
struct nb_relayed_change {
    enum nb_relayed_change_kind kind;
    struct nb_string model, source;
    struct nb_string from, to;
    struct nb_string settings; /* by nb_settings_write, or another value, depending on the kind */
    bool only_new;             /* refuses to change what exists */
    uint64_t last; /* the model's newest entry must have this number, or nothing is done */
};

/* The result of a requested change of a model. */
struct nb_relayed_change_done {
    bool created;      /* a model or a named value is new */
    uint64_t dropped;  /* number of quarantined changes that were dropped */
    uint64_t position; /* in the stream */
};

/* A message of a stream; its texts are borrowed. */
struct nb_traced {
    uint64_t position, checksum; /* nb_message_checksum */
    struct nb_string id, message;
};

/* Members of every change that comes from a stream. In other changes all are 0. */
struct nb_relayed {
    unsigned stream;
    struct nb_traced one;   /* stays until the change is applied */
    int64_t time;           /* milliseconds since 1970, by the node that got the request */
    uint64_t first_entry;   /* number of the model's first entry on that node; 0: it had none */
    uint8_t creates;        /* preset plus 1: the change makes the model if there is none; or 0 */
    uint64_t last;          /* if above 0: the model's newest entry must have this number */
    uint64_t outbox, entry; /* where the change was queued (nb_once_note); 0: it was not */
};

/* ---- relays ---------------------------------------------------------------------------------- */

/* Takes changes of one stream to the other nodes. An engine that is opened with the setting
 * `shared` begins without relays, so that all changes are refused, and gets one for each stream
 * that it follows. A relay must outlive all use of the engine. Any thread. */
struct nb_relay {
    void *user;
    /* Publishes the changes of the batch; calls `done` when all are applied here, or have failed.
     * If it returns a code other than 0, nothing is done, and `done` is not called. */
    int (*submit)(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                  void *done_user, struct nb_error *error);
    /* Publishes a change of a model, and waits for its result here, which is *done after 0. */
    int (*ask)(void *user, const struct nb_relayed_change *relayed_change,
               struct nb_relayed_change_done *done, struct nb_error *error);
    /* Returns 0 if all changes that any node has confirmed before are applied here, else
     * NB_STOPPING. Waits for them, or (`waits` false) says at once what this node knows. */
    int (*catch_up)(void *user, bool waits, struct nb_error *error);
    /* Publishes changes that the writer itself finds due: the batch's changes of documents or, if
     * `relayed_change` is not NULL, this change of a model. All nodes find and publish them, with
     * the same id and the same condition, so that they are made once. The caller keeps both. */
    void (*propose)(void *user, const struct nb_batch *batch,
                    const struct nb_relayed_change *relayed_change);
};

enum { NB_STREAMS_MOST = 64 };
/* Returns the stream, of `streams`, for changes of the model with this name, as on all nodes. */
unsigned nb_relay_stream(struct nb_string name, unsigned streams);

/* Converts a position in a stream to the number that clients get, which includes the stream. */
uint64_t nb_relay_number(const struct nb_engine *engine, unsigned stream, uint64_t position);

/* Whether the calling thread has to publish changes instead of making them. */
bool nb_relay_is_wanted(const struct nb_engine *engine);

/* Call the relay of the model's stream. Without a relay they return NB_STOPPING, with a text that
 * says so, and propose nothing. */
int nb_relay_submit(const struct nb_engine *engine, struct nb_string model, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *user, struct nb_error *error);
/* Sets *done (may be NULL) on success. */
int nb_relay_ask(const struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                 struct nb_relayed_change_done *done, struct nb_error *error);
void nb_relay_propose(const struct nb_engine *engine, struct nb_string model,
                      const struct nb_batch *batch, const struct nb_relayed_change *relayed_change);
/* As catch_up of the relay; 0 if changes are not shared. Needed before changes to documents that
 * are looked up on this node, and before one says that there is no such model. */
int nb_relay_catch_up(const struct nb_engine *engine, struct nb_string model, bool waits,
                      struct nb_error *error);

/* Notes that the calling thread applies this change from the stream, and so makes changes itself
 * instead of publishing them; borrowed. NULL: ends this. The second returns the change or NULL. */
void nb_relay_apply(const struct nb_relayed *relayed);
const struct nb_relayed *nb_relay_applied(void);

/* From now on sets *number to the number (nb_relay_number) of each change that the calling thread
 * requests, once the change is made; the highest one stays. NULL: ends this. Borrowed. */
void nb_relay_collect(uint64_t *number);
/* Sets the collected number, unless it is higher already. 0: of a change without one. */
void nb_relay_collected(uint64_t position);

/* ---- how far a store has come ---------------------------------------------------------------- */

/* The position in a stream is stored in the transaction that makes the change. The functions are
 * for the writer's thread, except where one says otherwise. */

/* A position, and a sum that is equal on two nodes if they have the same data there. */
struct nb_point {
    uint64_t position, sum;
};

/* How far a store has come in a stream. */
struct nb_stream_place {
    uint64_t made;          /* when the stream was made (detects a new one); 0: none is followed */
    struct nb_point staged; /* what the next transaction writes, with the message's checksum */
    struct nb_point stored; /* what the store has */
    bool is_due;            /* must be written, although the position is in the store */
    atomic_bool caught_up;  /* the store once had all changes of the stream */
    atomic_uint_fast64_t applied; /* the position of `stored`, for any thread */
};

struct nb_stream_states {
    bool is_known;    /* the store belongs to one of several nodes ... */
    unsigned streams; /* ... that share this many streams */
    int64_t time;     /* time of the change that is being made; 0: use the clock */
    struct nb_stream_place places[NB_STREAMS_MOST];
};

/* Reads the stored states when the store is opened. This and the next return 0 or a code. */
int nb_stream_states_read(struct nb_engine *engine, const struct nb_view *view,
                          struct nb_error *error);
/* Writes the staged states that are not in the store yet. Called in every transaction. */
int nb_stream_states_write(struct nb_engine *engine, const struct nb_view *view,
                           struct nb_error *error);
/* Notes that the transaction succeeded. */
void nb_stream_states_note(struct nb_engine *engine);
/* For a rebuild: copies the stored states and all messages. NB_CORRUPT: damaged. Any thread. */
int nb_stream_states_copy(const struct nb_view *from, struct nb_view *to, struct nb_error *error);

/* Whether the node once had all changes of each stream whose bit is set. Any thread. */
bool nb_stream_states_has_caught_up(const struct nb_engine *engine, uint64_t streams);

/* Sets the staged states to the stored ones, after work that has failed. */
void nb_stream_states_return(struct nb_engine *engine);

/* Stages the position of a change that begins, and writes its message to the trace. `view` is NULL
 * for a task: then its transactions write the message. Returns 0, also if the position is staged
 * already; NB_BUSY: the change must not be made now, because an earlier one is missing here; or a
 * code of the store. */
int nb_stream_states_stage(struct nb_engine *engine, const struct nb_view *view,
                           const struct nb_relayed *relayed, struct nb_error *error);

/* Sets *first_entry to the number of the model's first entry, by which all nodes identify the
 * model. Looks it up in `view`, unless that was done before. Any thread. Returns 0, NB_DAMAGED or
 * another code. */
int nb_stream_states_first_entry(struct nb_live *live, const struct nb_view *view,
                                 uint64_t *first_entry, struct nb_error *error);
/* Checks whether a change from the stream is for this model. If the change makes the model, and a
 * trainer of this node has made it unsaved with other settings, it gets the settings of the change.
 * Returns 0; NB_NOT_FOUND or NB_DAMAGED if it is not; or another code if the check failed. */
int nb_stream_states_check(const struct nb_relayed *relayed, struct nb_live *live,
                           const struct nb_view *view, struct nb_error *error);

/* Returns the time of the change that is being made; without one, the time of the clock. */
int64_t nb_stream_states_time(const struct nb_engine *engine);

/* Notes a change as made if a node had queued it (core/nodes/queue.c): the store has the number of
 * the last entry of each outbox. So a change that is published twice, however long after, is made
 * only once, on all nodes. Returns NB_EXISTS if this change, or a later one of its outbox, was made
 * already; or a code of the store. */
int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error);

/* ---- messages -------------------------------------------------------------------------------- */

/* Messages of the streams that a store keeps unchanged, ordered by number. On the writer's thread;
 * any thread may read.
 *
 * Stored form, in META under the name of the kind, a byte of the stream and the number (8 bytes,
 * big-endian): the checksum, 8 bytes; the id, a string; the message. */
enum nb_kept {
    NB_KEPT_TRACE, /* the last ones, by position: server/nodes restores what the database loses */
    NB_KEPT_QUEUE, /* those that wait to be published (core/nodes/queue.c) */
    NB_KEPT_PART,  /* parts of imports that wait for the last one (core/archive/dump/parts.h) */
    NB_KEPT_ONCE,  /* nb_once_note */
    NB_KEPT_PLACE  /* how far the store has come */
};
enum { NB_TRACE_MOST = 1 << 14 }; /* messages in the trace of a stream */

/* The checksum of a message and its id. */
uint64_t nb_message_checksum(struct nb_string id, struct nb_string message);

/* All return 0 or a code of the store. */
int nb_message_put(const struct nb_view *view, enum nb_kept where, unsigned stream,
                   const struct nb_traced *one, struct nb_error *error);
int nb_message_delete(const struct nb_view *view, enum nb_kept where, unsigned stream,
                      uint64_t number, struct nb_error *error);

/* Calls `visit` with each message from the number `from` on, in order. Stops when `visit` returns
 * non-zero, and returns that; else 0, NB_CORRUPT or a code of the store. */
typedef int nb_message_visit(void *user, const struct nb_traced *one, struct nb_error *error);
int nb_message_walk(const struct nb_view *view, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error);
/* As nb_message_walk, in a snapshot of its own. */
int nb_message_scan(struct nb_engine *engine, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error);

#endif
