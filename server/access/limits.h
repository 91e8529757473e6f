/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a client may ask for in a time, and how often it may guess a token. Lives as long as the
 * daemon, also when the configuration is read again. Any thread.
 *
 * Rates are counted twice, by the client's address and by its token, and hold for both. Of an IPv6
 * address the first 64 bits count, which one customer has for himself.
 *
 * Who shows unknown tokens too often is not asked any more for a while: from his address a right
 * token is refused, too, or he would learn by trying which one is right. Not so
 * - a token that bayesd has made, which nobody can guess;
 * - a token that was shown from that address before: who knows it need not guess. So others at the
 *   same address, behind a proxy or a router, are not locked out by a neighbour who guesses.
 */
#ifndef NB_SERVER_ACCESS_LIMITS_H
#define NB_SERVER_ACCESS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/access/access.h"
#include "server/access/rate.h"

struct nb_limits;

/* NULL when there is no memory. */
struct nb_limits *nb_limits_new(void);
void nb_limits_free(struct nb_limits **limits);

enum nb_limit { NB_LIMIT_CLASSIFY, NB_LIMIT_TRAIN, NB_LIMITS };

/* Takes one document from what the client may still send at `rate`. The first one of a request
 * needs a place; further ones may be ahead of the rate by a minute. Returns 0, or the nanoseconds
 * to wait. */
uint64_t nb_limits_take(struct nb_limits *limits, enum nb_limit which, const struct nb_rate *rate,
                        const struct nb_peer *peer, const struct nb_grant *grant, bool is_first);

/* Judges a token that was shown. A `grant` without a role: it was not known. Returns 0 when the
 * request is to be judged by its grant, or the nanoseconds to wait before the client may show
 * another one. */
uint64_t nb_limits_judge(struct nb_limits *limits, const struct nb_rate *failures,
                         const struct nb_peer *peer, const struct nb_grant *grant);

#endif
