/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: small JSON messages that the daemon posts to the URL of [events] when somebody should
 * look at something (config/EVENTS.md). A thread of its own looks at the models and sends; nothing
 * else waits for it. Without a URL there is no such thread, and `events` is NULL everywhere.
 */
#ifndef NB_SERVER_EVENTS_EVENTS_H
#define NB_SERVER_EVENTS_EVENTS_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

struct nb_config;
struct nb_engine;
struct nb_events;

/* Checks the options of [events]. Returns 0 or NB_INVALID. Any thread. */
int nb_events_check(const struct nb_config *config, struct nb_error *error);

/* Reads the secret and starts the thread; *events is NULL without a URL. `engine` and `config` are
 * borrowed until nb_events_stop. Returns 0, NB_NOT_FOUND (the file of the secret), NB_INVALID,
 * NB_IO or NB_NO_MEMORY. Main thread. */
int nb_events_start(struct nb_engine *engine, const struct nb_config *config,
                    struct nb_events **events, struct nb_error *error);

/* Sends what waits, until an attempt fails or `timeout` is over, and ends the thread. What is not
 * sent then is lost, and the log says how many. Sets *events to NULL; *events may be NULL. Main
 * thread, when no other thread uses `events` any more. */
void nb_events_stop(struct nb_events **events);

/* A verdict that is unsure; texts of length 0 are left out; any bytes. The id of a message may have
 * angle brackets. */
struct nb_unsure_verdict {
    struct nb_string model, id, message_id, label;
    double probability;
    const char *protocol;
};

/* Whether an event about an unsure verdict is wanted. `events` may be NULL. Any thread. */
bool nb_events_want_unsure(const struct nb_events *events);
/* Queues such an event, unless this minute has had as many as it may have. Any thread; it takes
 * microseconds, and waits for nothing. */
void nb_events_unsure(struct nb_events *events, const struct nb_unsure_verdict *verdict);

/* Appends the metrics of the events; nothing if `events` is NULL. Returns 0 or NB_NO_MEMORY. Any
 * thread. */
int nb_events_metrics(struct nb_events *events, struct nb_buffer *out);

#endif
