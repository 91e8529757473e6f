/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at the state of models now and then, and tells when something begins: drift above a bound,
 * suspects above a bound, changes in a quarantine. What it has told is told again only after it has
 * ended. For the thread of the events.
 */
#ifndef NB_SERVER_EVENTS_WATCH_H
#define NB_SERVER_EVENTS_WATCH_H

#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "server/events/event_queue.h"

struct nb_event_watch;

/* What begins. `drift` is of NB_EVENT_DRIFT, `documents` of the other two. */
struct nb_event_begins {
    enum nb_event_type type;
    const char *model; /* borrowed for the call */
    struct nb_drift_figures drift;
    uint64_t documents;
};
typedef void nb_event_begun(void *user, const struct nb_event_begins *begins);

struct nb_event_bounds {
    bool wanted[NB_EVENT_TYPES]; /* the others are not looked at */
    double drift;
    uint64_t suspects;
};

/* NULL: out of memory. `engine` is borrowed. */
struct nb_event_watch *nb_event_watch_new(struct nb_engine *engine,
                                          const struct nb_event_bounds *bounds);
void nb_event_watch_free(struct nb_event_watch **watch);

/* Looks once: at the drift and the suspects of models in memory, at the quarantines of all. It
 * loads no model. What cannot be read now, or lacks memory, is left out until the next time. */
void nb_event_watch_look(struct nb_event_watch *watch, nb_event_begun *begun, void *user);

#endif
