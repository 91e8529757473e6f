/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replica/joining.h"

#include <string.h>

#include "core/engine/engine.h"
#include "core/engine/writer.h"
#include "core/live/standing.h"
#include "core/live/state.h"
#include "core/replica/incoming.h"
#include "core/replica/replica_state.h"

/* A stream that a store may be of. */
struct joining {
    struct nb_string stream, follow;
    unsigned which;
    uint64_t created, last;
    uint64_t at, hash; /* of the message that it has where the store is; 0: of none */
    char name[NB_STREAM_FULL_MOST + 1]; /* with which of several it is */
};

static int join(struct nb_engine *engine, const struct joining *j, struct nb_error *error)
{
    if (!engine->standing.is_known && engine->serials.entry > 1) /* the one that made the store */
        return nb_error_set(error, NB_CONFLICT,
                            "the store has changes that the stream '%s' does not have: a node "
                            "joins with an empty store, or with the backup of another node",
                            j->name);
    nb_standing_join(engine, j->stream, j->follow, j->which, j->created);
    return 0;
}

/* The store belongs to a cluster already. */
static int check_cluster(const struct nb_engine *engine, const struct joining *j,
                         struct nb_error *error)
{
    const struct nb_standing *s = &engine->standing;
    if (!nb_string_equals(j->stream, s->stream))
        return nb_error_set(error, NB_CONFLICT,
                            "the store belongs to the stream '%s', and [cluster] stream is '%.*s'",
                            s->stream, (int)j->stream.length, j->stream.bytes);
    if (s->streams != engine->settings.streams)
        return nb_error_set(error, NB_CONFLICT,
                            "the store belongs to %u streams, and [cluster] streams is %u: their "
                            "number stays as it was when they were made",
                            s->streams, engine->settings.streams);
    if (!nb_string_equals(j->follow, s->follow))
        return nb_error_set(error, NB_CONFLICT,
                            "the store has %s%.100s of its cluster, and [cluster] follow is "
                            "'%.*s': what it did not follow it cannot get any more; begin with an "
                            "empty data directory, or take the store of a node with the same "
                            "follow",
                            s->follow[0] == '\0' ? "all models" : "the models ", s->follow,
                            j->follow.length < 100 ? (int)j->follow.length : 100, j->follow.bytes);
    return 0;
}

static int check_place(const struct nb_place *p, const struct joining *j, struct nb_error *error)
{
    if (p->created != j->created)
        return nb_error_set(error, NB_CONFLICT,
                            "the stream '%s' was made anew since the store has followed it: what "
                            "the store knows is not in it",
                            j->name);
    if (p->written > j->last)
        return nb_error_set(error, NB_CONFLICT,
                            "the store has applied %llu changes of the stream '%s', which has "
                            "only %llu now: its NATS servers have lost some",
                            (unsigned long long)p->written, j->name, (unsigned long long)j->last);
    return 0;
}

/* The writer has what is common to all streams. */
static int check_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct joining *j = argument;
    struct nb_standing *s = &engine->standing;
    const struct nb_place *p = &s->places[j->which];
    bool differs = p->created != j->created;
    int rc = s->is_known ? check_cluster(engine, j, error) : 0;
    if (rc == 0 && differs && p->written == 0)
        rc = join(engine, j, error);
    else if (rc == 0 && differs && j->at == p->written && j->hash == p->link.hash)
        nb_standing_renew(engine, j->which, j->created);
    else if (rc == 0)
        rc = check_place(p, j, error);
    return rc == 0 && p->is_due ? nb_incoming_store(engine, NULL, error) : rc;
}

/* What the stream has where the store is. What is gone, or not there yet, is no answer. */
static int look(const struct nb_replica *r, struct joining *j, struct nb_error *error)
{
    uint64_t at = atomic_load(&r->place->applied);
    if (at == 0 || r->place->created == j->created)
        return 0;
    int rc = r->settings.hash_at(r->settings.user, at, &j->hash, error);
    if (rc == 0)
        j->at = at;
    return rc == NB_NOT_FOUND ? 0 : rc;
}

int nb_joining_begin(struct nb_replica *r, uint64_t created, uint64_t last, struct nb_error *error)
{
    struct joining j = {.stream = nb_string_of(r->base),
                        .follow = nb_string_of(r->settings.follow),
                        .which = r->settings.stream,
                        .created = created,
                        .last = last};
    memcpy(j.name, r->stream, sizeof j.name);
    int rc = look(r, &j, error);
    return rc == 0 ? nb_writer_run(r->engine, check_task, &j, error) : rc;
}
