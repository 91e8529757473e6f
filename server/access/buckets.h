/* SPDX-License-Identifier: Apache-2.0
 *
 * Token buckets: how much of something each of many clients may still have. A bucket fills with its
 * rate up to its burst; taking from it fails if it holds less.
 *
 * A table has a fixed number of buckets, so its memory does not grow with the number of clients. A
 * client without a bucket is treated as if its bucket were full. A new bucket replaces the least
 * recently used of the few places that its hash gives; a client whose bucket was replaced is
 * allowed a little more than its rate. The hash has a secret key, so that nobody can choose an
 * address that replaces the bucket of another client. Any thread.
 */
#ifndef NB_SERVER_ACCESS_BUCKETS_H
#define NB_SERVER_ACCESS_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"
#include "server/access/rate.h"

struct nb_buckets;

/* NULL when there is no memory: 160 KB. */
struct nb_buckets *nb_buckets_new(void);
void nb_buckets_free(struct nb_buckets **buckets);

/* Takes 1 from each of the buckets of `keys` (any bytes), if each has more than `floor` then or
 * exactly as much: 0, or below it for debts. Otherwise takes nothing. `now` is nb_clock_monotonic.
 * Returns 0, or the nanoseconds after which it would do, when nobody else takes anything. */
uint64_t nb_buckets_take(struct nb_buckets *buckets, const struct nb_string *keys, size_t count,
                         const struct nb_rate *rate, double floor, uint64_t now);

/* How long nb_buckets_take would have to wait for one key; nothing is taken. */
uint64_t nb_buckets_wait(struct nb_buckets *buckets, struct nb_string key,
                         const struct nb_rate *rate, uint64_t now);

/* For tables that only remember keys: notes one, and tells whether one is noted (and notes it
 * again). */
void nb_buckets_note(struct nb_buckets *buckets, struct nb_string key, uint64_t now);
bool nb_buckets_knows(struct nb_buckets *buckets, struct nb_string key, uint64_t now);

#endif
