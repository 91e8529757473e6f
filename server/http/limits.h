/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits how much a client may request in a time, and how often it may guess a token. The limits
 * live as long as the daemon, also across reloads of the configuration. Any thread.
 *
 * Rates are counted twice, by the client's address and by its token, and both must be kept. Of an
 * IPv6 address only the first 64 bits count, because every customer has at least one network of
 * that size.
 *
 * A client that sends unknown tokens too often is refused for a while. A right token from its
 * address is refused, too, or the client would learn by trying which token is right. Exceptions:
 * - a token that bayesd has made, because nobody can guess it;
 * - a token that was sent from that address before, because its owner need not guess. So a
 *   neighbour who guesses does not lock out others at the same address, behind a proxy or a router.
 */
#ifndef NB_SERVER_HTTP_LIMITS_H
#define NB_SERVER_HTTP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"
#include "server/http/access.h"

struct nb_buckets;
struct nb_limits;

/* Token buckets: how much of something each of many clients may still have. A bucket fills at its
 * rate up to its burst; taking from it fails if it holds less.
 *
 * A table has a fixed number of buckets, so its memory does not grow with the number of clients. A
 * client without a bucket counts as one with a full bucket. A new bucket replaces the least
 * recently used one of the few places that its hash allows; a client whose bucket was replaced gets
 * slightly more than its rate. The hash has a secret key, so that nobody can choose an address that
 * replaces another client's bucket. Any thread. */

/* Makes a table. Returns NULL when there is no memory: 160 KB. */
struct nb_buckets *nb_buckets_new(void);
void nb_buckets_free(struct nb_buckets **buckets);

/* Takes 1 from each of the buckets of `keys` (any bytes) if each of them keeps at least `floor`: 0,
 * or a negative number to allow debts. Otherwise takes nothing. `now` is nb_clock_monotonic.
 * Returns 0, or the nanoseconds until it would succeed if nobody else takes anything. */
uint64_t nb_buckets_take(struct nb_buckets *buckets, const struct nb_string *keys, size_t count,
                         const struct nb_rate *rate, double floor, uint64_t now);

/* For tables that only remember keys: one function notes a key, the other tells whether a key is
 * noted (and notes it again). */
void nb_buckets_note(struct nb_buckets *buckets, struct nb_string key, uint64_t now);
bool nb_buckets_knows(struct nb_buckets *buckets, struct nb_string key, uint64_t now);

/* Makes the limits. Returns NULL when there is no memory. */
struct nb_limits *nb_limits_new(void);
void nb_limits_free(struct nb_limits **limits);

enum nb_limit { NB_LIMIT_CLASSIFY, NB_LIMIT_TRAIN, NB_LIMITS };

/* Takes one document from the client's allowance at `rate`. The first document of a request must be
 * within the rate; further ones may be up to a minute ahead of it. Returns 0, or the nanoseconds to
 * wait. */
uint64_t nb_limits_take(struct nb_limits *limits, enum nb_limit which, const struct nb_rate *rate,
                        const struct nb_peer *peer, const struct nb_grant *grant, bool is_first);

/* Judges a token that a client sent. A `grant` without a role means that the token is unknown.
 * Returns 0 when the grant decides the request, or the nanoseconds to wait before the client may
 * send another token. */
uint64_t nb_limits_judge(struct nb_limits *limits, const struct nb_rate *failures,
                         const struct nb_peer *peer, const struct nb_grant *grant);

#endif
