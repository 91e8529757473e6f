/* SPDX-License-Identifier: Apache-2.0
 *
 * A circuit breaker: when the daemon hangs, it is not waited for with every mail. After a request
 * that failed slowly, none is made for a pause; then one, the probe, and by what becomes of it the
 * breaker closes or the next pause begins. A failure that comes at once, as when nobody listens,
 * costs no time and opens nothing.
 *
 * A plain struct without a lock; times are of nb_clock_monotonic, in ns. Zero except for `pause` is
 * a closed breaker.
 */
#ifndef NB_CALL_BREAKER_H
#define NB_CALL_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NB_BREAKER_PAUSE = 5,       /* seconds, unless set otherwise */
    NB_BREAKER_PAUSE_MOST = 600 /* seconds */
};

/* A failure that took so long, in ns, is a slow one. */
#define NB_BREAKER_SLOW UINT64_C(500000000)

struct nb_breaker {
    uint64_t pause; /* ns; 0: never opens */
    /* Private to the functions below. */
    bool is_open, is_probed; /* open; and the probe is on its way */
    uint64_t until;          /* the end of the pause */
    uint64_t last_reply;     /* when a request last had a reply */
};

/* Whether a request may be made; nb_breaker_end must follow. If not, the pause goes on, or the
 * probe does. */
bool nb_breaker_begin(struct nb_breaker *breaker, uint64_t now);

/* A request that began at `start` has ended, with a reply or without one. Returns whether the
 * breaker has opened or closed with that. It stays closed if another request had a reply in the
 * meantime: then the daemon serves, and took long over this one only. */
bool nb_breaker_end(struct nb_breaker *breaker, uint64_t start, uint64_t now, bool has_reply);

#endif
