/* SPDX-License-Identifier: Apache-2.0
 *
 * Token buckets: how much of something each of many clients may still have. A bucket fills with its
 * rate up to its burst; who takes from it needs that much in it.
 *
 * A table has a fixed number of buckets, whoever comes: a client without one has a full bucket, and
 * when there is no place for a new one, that of a few goes which has not been used for longest. So
 * many clients at once get a little more each; memory does not grow. Places are chosen by a hash
 * with a secret key: nobody can aim at the bucket of another. Any thread.
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
