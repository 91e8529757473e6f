/* SPDX-License-Identifier: Apache-2.0
 *
 * A circuit breaker, which keeps every mail from waiting for a daemon that hangs. After a request
 * that failed slowly the breaker opens, and no request is made during a pause. Then one request,
 * the probe, is made: the breaker closes if it succeeds, or else the next pause begins. A failure
 * that comes at once, as when nobody listens, costs no time and does not open the breaker.
 *
 * A plain struct without a lock; times are of nb_clock_monotonic, in ns. A struct that is zero
 * except for `pause` is a closed breaker.
 */
#ifndef NB_CALL_BREAKER_H
#define NB_CALL_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NB_BREAKER_PAUSE = 5,       /* seconds, unless set otherwise */
    NB_BREAKER_PAUSE_MOST = 600 /* seconds */
};

/* A failure that took at least this long, in ns, is a slow one. */
#define NB_BREAKER_SLOW UINT64_C(500000000)

struct nb_breaker {
    uint64_t pause; /* ns; 0: never opens */
    /* Private to the functions below. */
    bool is_open, is_probed; /* the breaker is open; the probe is running */
    uint64_t until;          /* the end of the pause */
    uint64_t last_reply;     /* when a request last had a reply */
};

/* Returns whether a request may be made; nb_breaker_end must follow it. False means that the pause
 * is not over, or that the probe is still running. */
bool nb_breaker_begin(struct nb_breaker *breaker, uint64_t now);

/* Reports the end of a request that began at `start`, with a reply or without one. Returns whether
 * this opened or closed the breaker. The breaker stays closed if another request had a reply in the
 * meantime: the daemon is serving, and only this request took long. */
bool nb_breaker_end(struct nb_breaker *breaker, uint64_t start, uint64_t now, bool has_reply);

#endif
