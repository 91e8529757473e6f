/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether nodes have learned the same: the digest of their stores (digest.h) says so, at one
 * position for all: that of a message which changes nothing and asks for it. Now and then a node
 * publishes one, if no other has; each node that comes to it notes its digest, which members tell
 * each other. A store that takes too long to read has none: it makes no changes meanwhile.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/base/random.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/nodes/digest.h"
#include "core/nodes/replica_state.h"

enum { TURNS = 1024 }; /* in an eighth of the time between two digests */
/* Nanoseconds for which a node makes no changes for it. */
static const uint64_t READ_MOST = UINT64_C(2000000000);
/* What it is about; it needs a name. */
static const char MODEL[] = "digest";

static const struct nb_operation asking = {
    .kind = NB_OPERATION_ERRAND + (unsigned)NB_ERRAND_COMPARE,
    .errand = {.kind = NB_ERRAND_COMPARE, .model = {MODEL, sizeof MODEL - 1}}};

/* Each node has a turn of its own, so that one of them asks. */
static void wait_for_turn(struct nb_replica *r, uint64_t now)
{
    uint64_t every = r->settings.compare_every;
    struct nb_random random = nb_random_of(r->settings.seed, r->delivered.position);
    r->compare_at = now + every + every / 8 / TURNS * nb_random_below(&random, TURNS);
}

void nb_compare_begin(struct nb_replica *r)
{
    wait_for_turn(r, nb_clock_monotonic());
}

static void take_digest(struct nb_replica *r, uint64_t position)
{
    struct nb_digest digest;
    struct nb_error why = {0};
    char half[17] = "";
    uint64_t number = nb_relay_number(r->engine, r->settings.stream, position);
    int rc = nb_digest_within(r->engine, r->settings.stream, number, READ_MOST, &digest, &why);
    if (rc != 0) {
        r->settings.warn(r->settings.user, &why);
        return;
    }
    memcpy(half, digest.digits, sizeof half - 1);
    pthread_mutex_lock(&r->lock);
    r->digested = (struct nb_point){position, strtoull(half, NULL, 16)};
    pthread_mutex_unlock(&r->lock);
}

void nb_compare_note(struct nb_replica *r, const struct nb_operation *o, uint64_t position)
{
    uint64_t every = r->settings.compare_every, now = nb_clock_monotonic();
    if (every == 0 || o->kind != asking.kind || !nb_string_equals(o->errand.model, MODEL))
        return;
    bool is_early = r->compared_last != 0 && now - r->compared_last < every / 2;
    wait_for_turn(r, now);
    if (is_early) /* whoever may publish does not keep the nodes busy with it */
        return;
    r->compared_last = now;
    take_digest(r, position);
}

void nb_compare_tick(struct nb_replica *r, uint64_t now)
{
    struct nb_operation o = asking;
    struct nb_buffer message = {0};
    char id[NB_CONTENT_ID_LENGTH + 1];
    if (r->settings.compare_every == 0 || now < r->compare_at)
        return;
    wait_for_turn(r, now); /* if it does not come */
    o.change.relayed.time = nb_clock_now();
    const uint64_t all[] = {htole64(r->delivered.position), htole64(r->settings.seed),
                            htole64(now)};
    nb_key_content_id(&r->engine->key, 0xFC, (const char *)all, sizeof all, id);
    if (nb_operation_write(&o, &message) == 0)
        (void)nb_outgoing_publish(r, id, nb_buffer_string(&message), false,
                                  NULL); /* later, if not now */
    nb_buffer_deinit(&message);
}
