/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that wait to be sent, in memory, and when each is sent: at once, and after a failure again
 * after a pause that doubles. One thread at a time.
 */
#ifndef NB_SERVER_EVENTS_EVENT_QUEUE_H
#define NB_SERVER_EVENTS_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

enum nb_event_type {
    NB_EVENT_UNSURE,     /* a verdict is unsure */
    NB_EVENT_DRIFT,      /* the verdicts of a model have drifted */
    NB_EVENT_QUARANTINE, /* changes wait in the quarantine of a model */
    NB_EVENT_SUSPECTS,   /* many labels of a model are probably wrong */
    NB_EVENT_TYPES       /* how many there are */
};
/* "verdict.unsure", "model.drift", "model.quarantine", "model.suspects". */
const char *nb_event_type_name(enum nb_event_type type);

enum { NB_EVENT_ID = 37 /* bytes: "msg_", 32 digits and a NUL */ };

struct nb_event {
    enum nb_event_type type;
    char id[NB_EVENT_ID];  /* the same in each attempt */
    struct nb_buffer body; /* owned */
    uint64_t due;          /* nb_clock_monotonic; 0: at once */
    uint64_t attempts;     /* that have failed */
    /* Private to the queue. */
    struct nb_event *next;
    uint64_t number;
};

/* Makes an event with an id of its own and an empty body. NULL: out of memory. */
struct nb_event *nb_event_new(enum nb_event_type type);
/* Frees the event and sets *event to NULL; *event may be NULL. */
void nb_event_free(struct nb_event **event);

/* Initially all zero but for `most`. */
struct nb_event_queue {
    struct nb_event *first; /* owned; the oldest */
    size_t count, most;     /* `most`: at least 1 */
    uint64_t last_number;
};
void nb_event_queue_deinit(struct nb_event_queue *queue);

/* Adds an event, which the queue then owns: a new one at the end, one that was taken before at its
 * place. Returns the oldest event, now the caller's, if there would be more than `most`; it may be
 * the added one. Else NULL. */
struct nb_event *nb_event_queue_add(struct nb_event_queue *queue, struct nb_event *event);

/* Takes the event that is due first at `now`, the oldest one of equals; it is the caller's. NULL:
 * none is due. Sets *until to when the next one will be; UINT64_MAX: there is none. */
struct nb_event *nb_event_queue_take(struct nb_event_queue *queue, uint64_t now, uint64_t *until);

/* The pause in seconds after the failed attempt with this number, counted from 1: `first`, doubled
 * after each further one, `most` at most. */
uint64_t nb_event_pause(uint64_t attempts, uint64_t first, uint64_t most);

#endif
