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
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"
#include "server/access/access.h"

struct nb_buckets;
struct nb_limits;

/* Token buckets: how much of something each of many clients may still have. A bucket fills with its
 * rate up to its burst; taking from it fails if it holds less.
 *
 * A table has a fixed number of buckets, so its memory does not grow with the number of clients. A
 * client without a bucket is treated as if its bucket were full. A new bucket replaces the least
 * recently used of the few places that its hash gives; a client whose bucket was replaced is
 * allowed a little more than its rate. The hash has a secret key, so that nobody can choose an
 * address that replaces the bucket of another client. Any thread. */

/* NULL when there is no memory: 160 KB. */
struct nb_buckets *nb_buckets_new(void);
void nb_buckets_free(struct nb_buckets **buckets);

/* Takes 1 from each of the buckets of `keys` (any bytes), if each has more than `floor` then or
 * exactly as much: 0, or below it for debts. Otherwise takes nothing. `now` is nb_clock_monotonic.
 * Returns 0, or the nanoseconds after which it would do, when nobody else takes anything. */
uint64_t nb_buckets_take(struct nb_buckets *buckets, const struct nb_string *keys, size_t count,
                         const struct nb_rate *rate, double floor, uint64_t now);

/* For tables that only remember keys: notes one, and tells whether one is noted (and notes it
 * again). */
void nb_buckets_note(struct nb_buckets *buckets, struct nb_string key, uint64_t now);
bool nb_buckets_knows(struct nb_buckets *buckets, struct nb_string key, uint64_t now);

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
