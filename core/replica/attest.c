/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replica/attest.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/base/random.h"
#include "core/live/state.h"
#include "core/replica/operation.h"
#include "core/replica/replica_state.h"

enum {
    VERIFIED_MOST = 65536, /* messages that are read to find out who is right, */
    WINDOW = 1024,         /* and that are read at least: the leader may have changed */
    AT_START = 4 * WINDOW, /* that are read at most before a node begins to follow */
};
/* Nanoseconds: before others are told, to which a turn below as much is added; the longest turn of
 * the second one; most, before that is tried again; and for how long it is known who is right,
 * since one that is not may have sent many messages. */
static const uint64_t QUIET = UINT64_C(500000000);
static const uint64_t SECOND_TURN = UINT64_C(200000000);
static const uint64_t AGAIN_MOST = UINT64_C(8000000000);
static const uint64_t VERIFIED_FOR = UINT64_C(5000000000);

/* Below `most`, another one for each node and place: who comes first speaks for the others. */
static uint64_t turn_of(const struct nb_replica *r, uint64_t most)
{
    struct nb_random random = nb_random_of(r->settings.member, r->news);
    return nb_random_below(&random, most);
}

void nb_attest_begin(struct nb_replica *r)
{
    uint64_t position = atomic_load(&r->delivered);
    struct nb_chained points[NB_TRAIL_POINTS];
    r->link = r->place->link;
    assert(r->link.agreed <= position);
    size_t count = nb_trail_list(&r->place->trail, position, points);
    for (size_t i = 0; i < count; i++)
        nb_chain_add(&r->chain, points[i].position, points[i].chain);
    nb_chain_add(&r->chain, position, r->link.chain);
    nb_attest_note(r, position, true);
}

/* ---- who is right ---------------------------------------------------------------------------- */

/* `whose`: who has another one there, or before, if this node does not remember what it had before.
 */
static int astray(struct nb_replica *r, uint64_t position, const char *whose,
                  struct nb_error *error)
{
    uint64_t before;
    bool is_first = position == 1 || nb_chain_at(&r->chain, position - 1, &before);
    (void)nb_error_set(
        &r->astray, NB_CONFLICT,
        "this node was given another change at %llu%s than %s of '%s': the copy of a "
        "NATS server differs; give this node an empty store, or the backup of "
        "another node",
        (unsigned long long)position, is_first ? "" : " or before", whose, r->stream);
    atomic_store(&r->is_astray, true);
    if (error != NULL)
        *error = r->astray;
    return NB_CONFLICT;
}

/* Where reading begins: before the last `reach` positions; or where another node had the same last,
 * if that is earlier, was not compared with the leader yet, and is not more than `most` back. */
static struct nb_chained base_of(const struct nb_replica *r, uint64_t last, uint64_t reach,
                                 uint64_t most)
{
    struct nb_chained base = nb_chain_before(&r->chain, last > reach ? last - reach : 0);
    if (r->link.agreed < base.position && r->compared < base.position &&
        last - r->link.agreed <= most)
        return (struct nb_chained){r->link.agreed, r->link.agreed_chain};
    return base;
}

/* Reads one message further. What is not in the stream any more cannot be compared: `is_broken`
 * until a position that this node knows. Returns 0, or a code. */
static int read_on(struct nb_replica *r, struct nb_chained *at, bool *is_broken,
                   struct nb_error *error)
{
    uint64_t hash, own;
    int rc = r->settings.hash_at(r->settings.user, ++at->position, &hash, error);
    bool is_known = nb_chain_at(&r->chain, at->position, &own);
    if (rc == 0)
        at->chain = nb_chain_next(at->chain, at->position, hash);
    if (rc == NB_NOT_FOUND && at->position == nb_chain_last(&r->chain).position)
        return nb_error_set(error, NB_STOPPING, "the stream does not have all that this node has");
    if (rc != 0 && rc != NB_NOT_FOUND)
        return rc;
    *is_broken |= rc == NB_NOT_FOUND;
    if (is_known && *is_broken)
        *at = (struct nb_chained){at->position, own};
    else if (is_known && own != at->chain)
        return astray(r, at->position, "the leader of the stream", error);
    *is_broken &= !is_known;
    return 0;
}

/* Compares the messages with those of the stream's leader (base_of). Returns as nb_attest_judge;
 * NB_TOO_LARGE: that would be more than `most`. */
static int verify(struct nb_replica *r, uint64_t reach, uint64_t most, struct nb_error *error)
{
    uint64_t last = nb_chain_last(&r->chain).position;
    struct nb_chained at = base_of(r, last, reach, most);
    bool is_broken = false;
    if (last - at.position > most)
        return NB_TOO_LARGE;
    while (at.position < last) {
        if (atomic_load(&r->is_stopping))
            return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        int rc = read_on(r, &at, &is_broken, error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int nb_attest_verify(struct nb_replica *r, struct nb_error *error)
{
    int rc = verify(r, WINDOW, AT_START, error);
    return rc == NB_TOO_LARGE ? 0 : rc; /* the first node that tells its chain says more */
}

/* Another node was given something else. That others agree with this one proves nothing: nodes that
 * read from one server were misled together. So all is read that this node remembers, and later
 * what came since. */
static int verify_on_difference(struct nb_replica *r, struct nb_error *error)
{
    uint64_t last = nb_chain_last(&r->chain).position;
    uint64_t reach = last - r->compared + WINDOW;
    int rc = verify(r, reach < NB_CHAIN_RECENT ? reach : NB_CHAIN_RECENT, VERIFIED_MOST, error);
    if (rc == 0)
        r->compared = last;
    return rc;
}

int nb_attest_doubt(struct nb_replica *r)
{
    struct nb_error why;
    return atomic_load(&r->is_astray) ? NB_CONFLICT : verify_on_difference(r, &why);
}

static void agree(struct nb_replica *r, const struct nb_witness *w)
{
    if (w->member != r->settings.member && w->position > r->link.agreed) {
        r->link.agreed = w->position;
        r->link.agreed_chain = w->chain;
    }
    if (w->position < r->news || r->attested == 2 ||
        (r->attested == 1 && r->attested_by[0] == w->member))
        return;
    r->attested_by[r->attested++] = w->member;
    r->attest_at = nb_clock_monotonic() + turn_of(r, SECOND_TURN);
}

/* Says that a sender is wrong, once. */
static void warn(struct nb_replica *r, const struct nb_witness *w, uint64_t position)
{
    struct nb_error why;
    if (r->warned_of == w->member)
        return;
    r->warned_of = w->member;
    (void)nb_error_set(&why, NB_CONFLICT,
                       "the node that has published the change at %llu was given other changes "
                       "before than this node, which has those of the stream",
                       (unsigned long long)position);
    r->settings.warn(r->settings.user, &why);
}

int nb_attest_judge(struct nb_replica *r, const struct nb_witness *w, uint64_t position,
                    bool *differs, struct nb_error *error)
{
    uint64_t own;
    *differs = false;
    if (w->position == 0)
        return 0;
    bool is_known = nb_chain_at(&r->chain, w->position, &own);
    if (is_known && own == w->chain) {
        agree(r, w);
        return 0;
    }
    if (!is_known && w->position < position) /* too long ago */
        return 0;
    *differs = true;
    if (r->verified != 0 && nb_clock_monotonic() - r->verified < VERIFIED_FOR)
        return 0;
    int rc = verify_on_difference(r, error);
    if (rc == NB_TOO_LARGE) /* nobody has agreed for so long that it cannot be read who is right */
        rc = astray(r, w->position, "another node of the stream", error);
    if (rc != 0)
        return rc;
    r->verified = nb_clock_monotonic();
    warn(r, w, position);
    return 0;
}

/* ---- telling the others ---------------------------------------------------------------------- */

void nb_attest_note(struct nb_replica *r, uint64_t position, bool news)
{
    if (!news)
        return;
    r->news = position;
    r->attested = 0;
    r->attest_wait = QUIET;
    r->attest_at = nb_clock_monotonic() + QUIET + turn_of(r, QUIET);
}

/* Each message has an id of its own, also one that is sent again. With the same id for all nodes
 * the stream would take one of them. But a node that comes to the same place minutes later would
 * use an id that some NATS servers know for a duplicate and others, which forget it at another
 * time, do not: then their copies differ. */
static void make_id(const struct nb_replica *r, const struct nb_witness *w, uint64_t now,
                    char id[NB_CONTENT_ID_LENGTH + 1])
{
    const uint64_t all[] = {htole64(w->position), htole64(w->chain), htole64(w->member),
                            htole64(now)};
    nb_key_content_id(&r->engine->key, 0xFD, (const char *)all, sizeof all, id);
}

void nb_attest_tick(struct nb_replica *r, uint64_t now)
{
    struct nb_buffer message = {0};
    struct nb_witness w = {.position = r->news, .member = r->settings.member};
    const struct nb_operation o = {
        .kind = NB_OPERATION_ERRAND + (unsigned)NB_ERRAND_BARRIER,
        .time = nb_clock_now(),
        .errand = {.kind = NB_ERRAND_BARRIER, .model = nb_string_of("nodes")}};
    bool is_mine = r->attested == 1 && r->attested_by[0] == r->settings.member;
    if (now < r->attest_at || r->news == 0 || r->attested == 2 || is_mine ||
        atomic_load(&r->is_astray) || !nb_chain_at(&r->chain, w.position, &w.chain))
        return;
    char id[NB_CONTENT_ID_LENGTH + 1];
    make_id(r, &w, now, id);
    if (nb_operation_write(&o, &message) == 0)
        (void)r->settings.publish(r->settings.user, id, &w, nb_buffer_string(&message), NULL);
    nb_buffer_deinit(&message);
    r->attest_at = now + r->attest_wait; /* if it does not come */
    r->attest_wait = r->attest_wait < AGAIN_MOST ? r->attest_wait * 2 : AGAIN_MOST;
}

void nb_attest_answer(struct nb_replica *r)
{
    uint64_t now = nb_clock_monotonic();
    if (now - r->answered < QUIET)
        return;
    r->answered = r->attest_at = now;
    nb_attest_tick(r, now);
}
