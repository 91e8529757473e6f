/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/buckets.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 512, WAYS = 8, ID_BYTES = crypto_shorthash_siphashx24_BYTES, KEYS_MOST = 2 };

struct bucket {
    unsigned char id[ID_BYTES]; /* hash of its key */
    double level;               /* at the time `at` */
    uint64_t at;                /* nanoseconds; 0: the place is free */
};

struct nb_buckets {
    pthread_mutex_t lock; /* of the buckets; nothing else is taken while it is held */
    unsigned char secret[crypto_shorthash_siphashx24_KEYBYTES];
    struct bucket all[SETS][WAYS];
};

struct nb_buckets *nb_buckets_new(void)
{
    struct nb_buckets *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    (void)pthread_mutex_init(&made->lock, NULL); /* cannot fail with the GNU library */
    randombytes_buf(made->secret, sizeof made->secret);
    return made;
}

void nb_buckets_free(struct nb_buckets **buckets)
{
    if (*buckets == NULL)
        return;
    (void)pthread_mutex_destroy(&(*buckets)->lock); /* fails only when locked: a bug */
    free(*buckets);
    *buckets = NULL;
}

/* The bucket of a key; NULL when it has none. *place is then where it would be made: a free place,
 * or that of the bucket that was not used for longest. */
static struct bucket *find(struct nb_buckets *buckets, struct nb_string key,
                           unsigned char id[ID_BYTES], struct bucket **place)
{
    (void)crypto_shorthash_siphashx24(id, (const unsigned char *)key.bytes, key.length,
                                      buckets->secret);
    uint32_t number;
    memcpy(&number, id, sizeof number);
    struct bucket *set = buckets->all[number % SETS];
    *place = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].at != 0 && memcmp(set[i].id, id, ID_BYTES) == 0)
            return &set[i];
        if (set[i].at < (*place)->at)
            *place = &set[i];
    }
    return NULL;
}

static double level_of(const struct bucket *bucket, const struct nb_rate *rate, uint64_t now)
{
    if (bucket == NULL)
        return rate->burst;
    double seconds = now > bucket->at ? (double)(now - bucket->at) / 1e9 : 0;
    return fmin(bucket->level + seconds * rate->per_second, rate->burst);
}

/* Until a bucket of this level has 1 above `floor`. */
static uint64_t wait_of(double level, const struct nb_rate *rate, double floor)
{
    assert(rate->per_second > 0 && level <= rate->burst);
    double missing = floor + 1 - level;
    return missing > 0 ? (uint64_t)ceil(missing / rate->per_second * 1e9) : 0;
}

static void set_level(struct nb_buckets *buckets, struct nb_string key, double level, uint64_t now)
{
    unsigned char id[ID_BYTES];
    struct bucket *place, *bucket = find(buckets, key, id, &place);
    if (bucket == NULL)
        bucket = place;
    memcpy(bucket->id, id, ID_BYTES);
    bucket->level = level;
    bucket->at = now > 0 ? now : 1;
}

uint64_t nb_buckets_take(struct nb_buckets *buckets, const struct nb_string *keys, size_t count,
                         const struct nb_rate *rate, double floor, uint64_t now)
{
    double levels[KEYS_MOST];
    unsigned char id[ID_BYTES];
    struct bucket *place;
    uint64_t longest = 0;
    assert(count <= KEYS_MOST && rate->per_second > 0);
    pthread_mutex_lock(&buckets->lock);
    for (size_t i = 0; i < count; i++) {
        levels[i] = level_of(find(buckets, keys[i], id, &place), rate, now);
        uint64_t wait = wait_of(levels[i], rate, floor);
        longest = wait > longest ? wait : longest;
    }
    for (size_t i = 0; i < count && longest == 0; i++)
        set_level(buckets, keys[i], levels[i] - 1, now);
    pthread_mutex_unlock(&buckets->lock);
    return longest;
}

uint64_t nb_buckets_wait(struct nb_buckets *buckets, struct nb_string key,
                         const struct nb_rate *rate, uint64_t now)
{
    unsigned char id[ID_BYTES];
    struct bucket *place;
    assert(rate->per_second > 0);
    pthread_mutex_lock(&buckets->lock);
    double level = level_of(find(buckets, key, id, &place), rate, now);
    pthread_mutex_unlock(&buckets->lock);
    return wait_of(level, rate, 0);
}

void nb_buckets_note(struct nb_buckets *buckets, struct nb_string key, uint64_t now)
{
    pthread_mutex_lock(&buckets->lock);
    set_level(buckets, key, 0, now);
    pthread_mutex_unlock(&buckets->lock);
}

bool nb_buckets_knows(struct nb_buckets *buckets, struct nb_string key, uint64_t now)
{
    unsigned char id[ID_BYTES];
    struct bucket *place;
    pthread_mutex_lock(&buckets->lock);
    struct bucket *bucket = find(buckets, key, id, &place);
    if (bucket != NULL)
        bucket->at = now > 0 ? now : 1;
    pthread_mutex_unlock(&buckets->lock);
    return bucket != NULL;
}
