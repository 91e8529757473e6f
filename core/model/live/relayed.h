/* SPDX-License-Identifier: Apache-2.0
 *
 * What an engine has of the other nodes that share its changes: the relay that takes changes to
 * them (relay.h), what comes with a change that came from there, and how far the store has come
 * (stream_states.h).
 */
#ifndef NB_CORE_MODEL_LIVE_RELAYED_H
#define NB_CORE_MODEL_LIVE_RELAYED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_batch;

/* A change that is not one of documents. */
enum nb_relayed_change_kind {
    NB_ERRAND_PUT,          /* of a model: made, or its settings changed */
    NB_ERRAND_DELETE,       /* of a model */
    NB_ERRAND_RENAME_LABEL, /* from `from` to `to` */
    NB_ERRAND_FIELDS,       /* the fields in `settings` that the model does not have are added */
    NB_ERRAND_FITTED,       /* `settings` have a map that was fitted to the entries up to `last` */
    NB_ERRAND_COMPARE,      /* nothing: nodes compare what they have learned up to there */
    NB_ERRAND_PUT_NAMED,    /* the value `settings` of the kind `from` under the name `model` */
    NB_ERRAND_DELETE_NAMED, /* what is kept of the kind `from` under the name `model` */
    NB_ERRAND_DROP, /* from the model's quarantine what `settings` list (nb_quarantine_drop_list) */
    NB_ERRAND_CLEAR,   /* the first changes of the model's quarantine (nb_quarantine_clear_some) */
    NB_ERRAND_STAGE,   /* piece `last` of the import `from`, `settings` (core/archive/dump/staged.h)
                        */
    NB_ERRAND_UNSTAGE, /* the import `from` is given up */
    NB_ERRAND_IMPORT, /* the import `from` of `last` pieces, or a copy of the model `to`; `settings`
                         name the parent that the model gets, if any */
    NB_ERRANDS
};

/* All texts are borrowed. What a kind does not use is empty. */
struct nb_relayed_change {
    enum nb_relayed_change_kind kind;
    struct nb_string model, source;
    struct nb_string from, to;
    struct nb_string settings; /* by nb_settings_write; or another value, as the kind says */
    bool only_new;             /* of what is put */
    uint64_t last;             /* the newest entry of the model; else nothing is done */
};

/* What is common to all changes that come from the stream. All of it is 0 in other changes. */
struct nb_relayed {
    unsigned stream;   /* which of the nodes' */
    uint64_t position; /* in the stream */
    uint64_t after;    /* the position before it */
    /* What came from there, and nb_message_checksum of it; borrowed until it is applied. */
    uint64_t checksum;
    struct nb_string message_id, message;
    int64_t time;         /* milliseconds since 1970, as the node says that was asked */
    uint64_t first_entry; /* number of the first entry of the model there; 0: it had none */
    uint8_t creates;      /* the model comes into being with the change, if there is none: with this
                             preset, plus 1 */
    uint64_t last;        /* the newest entry of the model, above 0, or the change is not made */
    uint64_t outbox, entry; /* where it was queued (nb_once_note); 0: it was not */
};

/* What has become of a change of a model that was asked for. */
struct nb_relayed_change_done {
    bool created;      /* a model, or what else was put */
    uint64_t dropped;  /* changes that waited in a quarantine */
    uint64_t position; /* in the stream */
};

struct nb_relay {
    void *user;
    /* Publishes the changes of the batch; calls `done` when all are applied here, or have failed.
     * Not 0: nothing is done, `done` is not called either. */
    int (*submit)(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                  void *done_user, struct nb_error *error);
    /* Publishes a change of a model and waits until it is applied here. Returns its result; *done
     * is written if that is 0. */
    int (*ask)(void *user, const struct nb_relayed_change *relayed_change,
               struct nb_relayed_change_done *done, struct nb_error *error);
    /* Waits until all is applied here that any node has confirmed before. */
    int (*catch_up)(void *user, struct nb_error *error);
    /* Whether there may be changes that are not made here yet. Waits for nothing. */
    bool (*lacks)(void *user);
    /* Publish what the writer finds due by itself. All nodes find it, so that what they publish has
     * a condition and an id that follow from it: it is done once. The batch stays the caller's. */
    void (*propose)(void *user, const struct nb_batch *batch);
    void (*propose_relayed_change)(void *user, const struct nb_relayed_change *relayed_change);
};

/* Streams of several nodes, over which their models are spread by their names (nb_relay_stream). */
enum { NB_STREAMS_MOST = 64 };

/* A message that was made, and is kept with the transaction that makes it (messages.h). */
struct nb_traced {
    uint64_t position, checksum;
    struct nb_string id, message; /* borrowed */
};

/* A position, and what says whether two nodes have the same there. */
struct nb_point {
    uint64_t position, sum;
};

/* How far a store has come in a stream. */
struct nb_stream_place {
    uint64_t made;           /* tells the stream from one that was made anew; 0: it follows none */
    uint64_t staged;         /* what the next transaction writes */
    uint64_t written;        /* what is in the store */
    uint64_t checksum;       /* of what was staged last */
    uint64_t traced;         /* bytes of the messages in the trace; and ... */
    uint64_t tracing;        /* ... when what is staged is written */
    bool is_due;             /* to be written, although the position is */
    struct nb_traced *fresh; /* staged and not written yet; owned */
    size_t fresh_count, fresh_room;
    atomic_bool caught_up;        /* it had all that there was, once */
    atomic_uint_fast64_t applied; /* as `written`, for any thread */
};

struct nb_stream_states {
    bool is_known;    /* the store is that of one of several nodes: */
    unsigned streams; /* that share so many streams */
    int64_t time;     /* of the change that is being made; 0: the clock says it */
    struct nb_stream_place places[NB_STREAMS_MOST];
    struct {
        uint64_t staged, checksum;
        size_t fresh;
    } marked[NB_STREAMS_MOST]; /* nb_stream_states_mark */
};

#endif
