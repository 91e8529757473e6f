/* SPDX-License-Identifier: Apache-2.0
 *
 * Types for the exchange of changes with other nodes: changes as they travel, how far a store has
 * come in each stream (stream_states.h), and the relay that takes changes to the others (relay.h).
 */
#ifndef NB_CORE_MODEL_LIVE_RELAYED_H
#define NB_CORE_MODEL_LIVE_RELAYED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_batch;
struct nb_engine;

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
    NB_RELAYED_CHANGE_DROP,         /* drops quarantined changes: nb_quarantine_drop_list */
    NB_RELAYED_CHANGE_CLEAR,        /* drops the first of them: nb_quarantine_clear_some */
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

/* Members of every change that comes from a stream. In other changes all are 0. */
struct nb_relayed {
    unsigned stream;
    uint64_t position; /* in the stream */
    /* The message, its id, and their nb_message_checksum; borrowed until the change is applied. */
    uint64_t checksum;
    struct nb_string message_id, message;
    int64_t time;           /* milliseconds since 1970, by the node that got the request */
    uint64_t first_entry;   /* number of the model's first entry on that node; 0: it had none */
    uint8_t creates;        /* preset plus 1: the change makes the model if there is none; or 0 */
    uint64_t last;          /* if above 0: the model's newest entry must have this number */
    uint64_t outbox, entry; /* where the change was queued (nb_once_note); 0: it was not */
};

/* ---- how far a store has come (stream_states.h) ---------------------------------------------- */

/* Streams of several nodes, over which their models are spread by their names (nb_relay_stream). */
enum { NB_STREAMS_MOST = 64 };

/* A message whose change was made. The same transaction stores the message. */
struct nb_traced {
    uint64_t position, checksum;
    struct nb_string id, message; /* borrowed */
};

/* A position, and a sum that is equal on two nodes if they have the same data there. */
struct nb_point {
    uint64_t position, sum;
};

/* How far a store has come in a stream. */
struct nb_stream_place {
    uint64_t made;           /* when the stream was made (detects a new one); 0: none is followed */
    struct nb_point staged;  /* what the next transaction writes, with the message's checksum */
    uint64_t written;        /* the position in the store */
    uint64_t traced;         /* bytes of the messages in the trace; and ... */
    uint64_t tracing;        /* ... after the staged ones are written */
    bool is_due;             /* must be written, although the position is in the store */
    struct nb_traced *fresh; /* staged and not written yet; owned */
    size_t fresh_count, fresh_room;
    struct nb_point marked;       /* as `staged`, and ... */
    size_t fresh_marked;          /* ... `fresh_count`, at nb_stream_states_mark */
    atomic_bool caught_up;        /* the store once had all changes of the stream */
    atomic_uint_fast64_t applied; /* as `written`, for any thread */
};

struct nb_stream_states {
    bool is_known;    /* the store belongs to one of several nodes ... */
    unsigned streams; /* ... that share this many streams */
    int64_t time;     /* time of the change that is being made; 0: use the clock */
    struct nb_stream_place places[NB_STREAMS_MOST];
};

/* ---- relays ---------------------------------------------------------------------------------- */

struct nb_relay {
    void *user;
    /* Publishes the changes of the batch; calls `done` when all are applied here, or have failed.
     * If it returns a code other than 0, nothing is done, and `done` is not called. */
    int (*submit)(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                  void *done_user, struct nb_error *error);
    /* Publishes a change of a model and waits until it is applied here. Returns its result; *done
     * is written if that is 0. */
    int (*ask)(void *user, const struct nb_relayed_change *relayed_change,
               struct nb_relayed_change_done *done, struct nb_error *error);
    /* Waits until all changes that any node has confirmed before are applied here. */
    int (*catch_up)(void *user, struct nb_error *error);
    /* Whether there may be changes that are not made here yet. Does not wait. */
    bool (*lacks)(void *user);
    /* Publishes changes that the writer itself finds due: the batch's changes of documents or, if
     * `relayed_change` is not NULL, this change of a model. All nodes find and publish them, with
     * the same id and the same condition, so that they are made once. The caller keeps both. */
    void (*propose)(void *user, const struct nb_batch *batch,
                    const struct nb_relayed_change *relayed_change);
};

#endif
