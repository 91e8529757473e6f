/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "server/access/buckets.h"
#include "server/access/token.h"

/* How far the documents of one request may be ahead of the rate. */
static const double AHEAD_SECONDS = 60;

struct nb_limits {
    struct nb_buckets *rates[NB_LIMITS]; /* owned, as are the others */
    struct nb_buckets *failures;         /* by address */
    struct nb_buckets *known;            /* addresses with tokens that were shown there */
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

/* ---- keys --------------------------------------------------------------------------------------
 */

/* Who is counted: an address, or a token, or both. */
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
    memcpy(key->bytes + key->length, grant->token->hash, NB_TOKEN_HASH);
    key->length += NB_TOKEN_HASH;
}

/* ---- rates -------------------------------------------------------------------------------------
 */

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

/* ---- failures ----------------------------------------------------------------------------------
 */

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
    uint64_t wait = nb_buckets_wait(limits->failures, key, failures, now);
    if (wait == 0)
        nb_buckets_note(limits->known, text_of(&both), now);
    return wait;
}
