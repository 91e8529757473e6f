/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/limits.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"
#include "server/http/tokens.h"

enum { SETS = 512, WAYS = 8, ID_BYTES = crypto_shorthash_siphashx24_BYTES, KEYS_MOST = 2 };

struct bucket {
    unsigned char id[ID_BYTES]; /* hash of its key */
    double level;               /* how full it was at the time `at` */
    uint64_t at;                /* nanoseconds; 0: the place is free */
};

struct nb_buckets {
    pthread_mutex_t lock; /* guards the buckets; no other lock is taken while it is held */
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

/* Finds the bucket of a key. If there is none, returns NULL and sets *place to the place for a new
 * bucket: a free one, or that of the least recently used bucket. */
static struct bucket *find(struct nb_buckets *buckets, struct nb_string key,
                           unsigned char id[ID_BYTES], struct bucket **place)
{
    static_assert(ID_BYTES >= sizeof(uint32_t), "the number of the set is a part of the id");
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
    assert(rate->per_second > 0);
    double seconds = now > bucket->at ? (double)(now - bucket->at) / 1e9 : 0;
    return fmin(bucket->level + seconds * rate->per_second, rate->burst);
}

/* Returns the time until a bucket with this level has 1 more than `floor`. */
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

/* Returns how long nb_buckets_take would have to wait for one key, without taking anything. */
static uint64_t buckets_wait(struct nb_buckets *buckets, struct nb_string key,
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

/* How far the documents of one request may be ahead of the rate, as time. */
static const double AHEAD_SECONDS = 60;

struct nb_limits {
    struct nb_buckets *rates[NB_LIMITS]; /* owned, like the members below */
    struct nb_buckets *failures;         /* the failures of each address */
    struct nb_buckets *known;            /* pairs of an address and a token that was sent from it */
};

struct nb_limits *nb_limits_new(void)
{
    struct nb_limits *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    bool is_complete = (made->failures = nb_buckets_new()) != NULL;
    is_complete &= (made->known = nb_buckets_new()) != NULL;
    for (size_t i = 0; i < NB_LIMITS; i++)
        is_complete &= (made->rates[i] = nb_buckets_new()) != NULL;
    if (!is_complete)
        nb_limits_free(&made);
    return made;
}

void nb_limits_free(struct nb_limits **limits)
{
    if (*limits == NULL)
        return;
    for (size_t i = 0; i < NB_LIMITS; i++)
        nb_buckets_free(&(*limits)->rates[i]);
    nb_buckets_free(&(*limits)->failures);
    nb_buckets_free(&(*limits)->known);
    free(*limits);
    *limits = NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* What a limit is for: an address, a token, or both. */
struct key {
    unsigned char bytes[1 + 16 + NB_TOKEN_HASH];
    size_t length;
};

static struct nb_string text_of(const struct key *key)
{
    return (struct nb_string){(const char *)key->bytes, key->length};
}

/* The kind comes first, so that an address is never taken for a token. */
static void add_address(struct key *key, const struct nb_peer *peer)
{
    const struct nb_address *address = &peer->address;
    static_assert(sizeof peer->user <= 16 && sizeof address->bytes == 16, "they fit");
    key->bytes[0] = (unsigned char)address->kind;
    memset(key->bytes + 1, 0, 16);
    if (peer->has_user)
        memcpy(key->bytes + 1, &peer->user, sizeof peer->user);
    else
        memcpy(key->bytes + 1, address->bytes, nb_address_is_v4(address) ? 16 : 8);
    key->length = 17;
}

static void add_token(struct key *key, const struct nb_grant *grant)
{
    enum { TOKEN = 0xff };
    assert(grant->token != NULL && (key->length == 0 || key->length == 17)); /* an address */
    if (key->length == 0)
        key->bytes[key->length++] = TOKEN;
    assert(key->length + NB_TOKEN_HASH <= sizeof key->bytes);
    memcpy(key->bytes + key->length, grant->token->hash, NB_TOKEN_HASH);
    key->length += NB_TOKEN_HASH;
}

/* ---- rates ----------------------------------------------------------------------------------- */

uint64_t nb_limits_take(struct nb_limits *limits, enum nb_limit which, const struct nb_rate *rate,
                        const struct nb_peer *peer, const struct nb_grant *grant, bool is_first)
{
    assert(which < NB_LIMITS);
    struct key address = {.length = 0}, token = {.length = 0};
    struct nb_string keys[2];
    size_t count = 0;
    if (rate->per_second <= 0)
        return 0;
    add_address(&address, peer);
    keys[count++] = text_of(&address);
    if (grant->token != NULL) {
        add_token(&token, grant);
        keys[count++] = text_of(&token);
    }
    return nb_buckets_take(limits->rates[which], keys, count, rate,
                           is_first ? 0 : -AHEAD_SECONDS * rate->per_second, nb_clock_monotonic());
}

/* ---- failures -------------------------------------------------------------------------------- */

uint64_t nb_limits_judge(struct nb_limits *limits, const struct nb_rate *failures,
                         const struct nb_peer *peer, const struct nb_grant *grant)
{
    struct key address = {.length = 0};
    uint64_t now = nb_clock_monotonic();
    if (failures->per_second <= 0)
        return 0;
    add_address(&address, peer);
    struct nb_string key = text_of(&address);
    if (grant->token == NULL)
        return grant->role == NB_ROLE_NONE
                   ? nb_buckets_take(limits->failures, &key, 1, failures, 0, now)
                   : 0;
    if (grant->token->is_made)
        return 0;
    struct key both = address;
    add_token(&both, grant);
    if (nb_buckets_knows(limits->known, text_of(&both), now))
        return 0;
    uint64_t wait = buckets_wait(limits->failures, key, failures, now);
    if (wait == 0)
        nb_buckets_note(limits->known, text_of(&both), now);
    return wait;
}
