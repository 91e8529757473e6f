/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of the HTTP server and the page for GET /metrics (Prometheus text format 0.0.4). Any
 * thread: counters are atomic, each route's in cache lines of its own.
 */
#ifndef NB_SERVER_BASE_METRICS_H
#define NB_SERVER_BASE_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"

struct nb_engine_statistics;
struct nb_metrics;

/* Makes the counters. `patterns` and `methods` name the routes (borrowed, static); requests that
 * match none are counted under "other". `version` is the program's. Returns NULL when there is no
 * memory. */
struct nb_metrics *nb_metrics_new(const char *const *methods, const char *const *patterns,
                                  size_t count, const char *version);
void nb_metrics_free(struct nb_metrics **metrics);

/* Counts a finished request. `route` is the index in the table, SIZE_MAX for none; `status` 0 means
 * that the client left before its reply. The seconds run from the request's header fields to the
 * last byte of the reply. */
void nb_metrics_request(struct nb_metrics *metrics, size_t route, unsigned status,
                        uint64_t nanoseconds, uint64_t bytes_in, uint64_t bytes_out);

/* A connection was opened (+1) or closed (-1). */
void nb_metrics_connection(struct nb_metrics *metrics, int change);

/* Names the actions in replies to mail software (borrowed, static; at most NB_METRICS_ACTIONS), in
 * the order of the numbers that nb_metrics_mail uses. Call it before the threads start. */
enum { NB_METRICS_ACTIONS = 8 };
void nb_metrics_name_actions(struct nb_metrics *metrics, const char *const *names, size_t count);

/* Counts a mail that was judged; the other function returns the count. `action` is below
 * `count`. */
void nb_metrics_mail(struct nb_metrics *metrics, size_t action);
uint64_t nb_metrics_mails(const struct nb_metrics *metrics, size_t action);

/* Counts a verdict on a document, of any client. If several models judge a document, each verdict
 * counts; for mail software only the verdict in the reply does. */
void nb_metrics_verdict(struct nb_metrics *metrics);

/* Bits: a user's mail was learned, or judged. NB_USER_SEEN is the number of combinations. */
enum { NB_USER_TAUGHT = 1, NB_USER_ASKED = 2, NB_USER_SEEN = 4 };

/* Further users are not counted: recipients that do not exist must not fill the memory. */
enum { NB_MAIL_USERS_MOST = 49152 };

/* Notes that mail of a user was learned (NB_USER_TAUGHT) or judged (NB_USER_ASKED), by the name of
 * the user's model. A user who is in only one of the two sets may have two names
 * (server/http/user_map.h). Without memory nothing is noted. */
void nb_metrics_user(struct nb_metrics *metrics, struct nb_string model, unsigned seen);

/* Counts a request, or a document of a batch, that was refused because it has no valid token or
 * because its client exceeds a limit. */
enum nb_refused {
    NB_REFUSED_TOKEN,    /* it has no known token */
    NB_REFUSED_FAILURES, /* [server] rate_failures */
    NB_REFUSED_CLASSIFY, /* rate_classify */
    NB_REFUSED_TRAIN,    /* rate_train */
    NB_REFUSED_REASONS   /* how many there are */
};
void nb_metrics_refused(struct nb_metrics *metrics, enum nb_refused reason);

/* Appends the page. `engine` may be NULL. Returns 0 or NB_NO_MEMORY. */
int nb_metrics_write(struct nb_metrics *metrics, const struct nb_engine_statistics *engine,
                     struct nb_buffer *out);

/* Appends one gauge, or a counter if its name ends in "_total"; `name` lacks the common prefix
 * "bayesd_". Returns as nb_metrics_write. */
int nb_metrics_one(struct nb_buffer *out, const char *name, const char *help, double value);

#endif
