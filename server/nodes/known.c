/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/known.h"

#include <stdlib.h>

#include <string.h>

#include "server/access/models.h"

static bool has_model(const struct nb_member *m, struct nb_string model)
{
    return m->follow[0] == '\0' || nb_models_match(m->follow, model);
}

static int append_followers(const struct nb_known_member *list, size_t count,
                            struct nb_string model, size_t most, struct nb_buffer *urls)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct nb_member *m = &list[i].said;
        size_t size = strlen(m->url) + 1;
        if (!list[i].is_self && size > 1 && urls->length + size <= most && has_model(m, model))
            rc = nb_buffer_append(urls, m->url, size);
    }
    return rc;
}

static int by_silence(const void *a, const void *b)
{
    int64_t x = ((const struct nb_known_member *)a)->silence;
    int64_t y = ((const struct nb_known_member *)b)->silence;
    return (x > y) - (x < y);
}

int nb_nodes_list_followers(struct nb_nodes *nodes, struct nb_string model, size_t most,
                            struct nb_buffer *urls)
{
    struct nb_known_member *members = NULL;
    size_t count = 0;
    int rc = nb_nodes_members(nodes, &members, &count, NULL);
    if (rc == 0)
        qsort(members, count, sizeof *members, by_silence);
    if (rc == 0)
        rc = append_followers(members, count, model, most, urls);
    free(members);
    return rc;
}

int nb_nodes_check_pair(struct nb_nodes *nodes, struct nb_string model, struct nb_string other,
                        bool is_copy, struct nb_error *error)
{
    struct nb_known_member *members = NULL;
    size_t count = 0;
    int rc = nb_nodes_members(nodes, &members, &count, error);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct nb_member *m = &members[i].said;
        bool has = has_model(m, model), has_other = has_model(m, other);
        if (is_copy ? has && !has_other : has != has_other)
            rc = nb_error_set(error, NB_CONFLICT,
                              "the node '%s' follows one of '%.*s' and '%.*s' alone: a parent and "
                              "its children, a copy and what it is of, are to be followed together",
                              m->name, (int)model.length, model.bytes, (int)other.length,
                              other.bytes);
    }
    free(members);
    return rc;
}

#ifdef NB_HAS_NATS

#include "config/config.h"
#include "core/base/clock.h"
#include "core/live/state.h"
#include "core/replica/replica.h"
#include "server/base/log.h"
#include "server/nodes/nodes_state.h"

struct nb_known {
    pthread_mutex_t lock;         /* of what follows */
    struct nb_known_member *list; /* owned */
    size_t count;
    uint64_t read; /* when, by this machine's clock */
};

struct nb_known *nb_known_new(void)
{
    struct nb_known *known = calloc(1, sizeof *known);
    if (known != NULL)
        pthread_mutex_init(&known->lock, NULL);
    return known;
}

void nb_known_free(struct nb_known **known)
{
    if (*known == NULL)
        return;
    pthread_mutex_destroy(&(*known)->lock);
    free((*known)->list);
    free(*known);
    *known = NULL;
}

static int agrees_in(struct nb_lane *l, const struct nb_member *m)
{
    struct nb_chained told = m->places[l->which].told;
    pthread_rwlock_rdlock(&l->using);
    int found = l->replica != NULL && told.position > 0 ? nb_replica_agrees(l->replica, told) : -1;
    pthread_rwlock_unlock(&l->using);
    return found;
}

/* Whether this node and the member were given the same, by all streams of which that is known. */
static int agrees(struct nb_nodes *n, const struct nb_member *m)
{
    int all = -1;
    for (unsigned i = 0; i < n->lane_count && i < m->streams; i++) {
        int one = agrees_in(&n->lanes[i], m);
        all = all == 0 || one < 0 ? all : one;
    }
    return all;
}

static int same_in(struct nb_lane *l, const struct nb_member *m, int before)
{
    struct nb_chained own = {.position = 0};
    pthread_rwlock_rdlock(&l->using);
    if (l->replica != NULL)
        own = nb_replica_digested(l->replica);
    pthread_rwlock_unlock(&l->using);
    return nb_member_same(own, m->places[l->which].digested, before);
}

/* Sets whether the member has learned the same. */
static void compare(struct nb_nodes *n, const struct nb_known_member *before,
                    struct nb_known_member *found)
{
    const struct nb_member *m = &found->said;
    if (strcmp(m->follow, n->config->cluster_follow) != 0)
        return;
    unsigned streams = n->lane_count < m->streams ? n->lane_count : m->streams;
    for (unsigned i = 0; i < streams; i++)
        found->same_in[i] = (int8_t)same_in(&n->lanes[i], m, before->same_in[i]);
    found->same = nb_member_same_of_all(found->same_in, streams);
    if (found->same == 0 && before->same != 0)
        nb_log(NB_LOG_ERROR,
               "cluster: the node '%s' has learned something else than this node from the same "
               "changes: keep both stores, start one of both with an empty one, and report it",
               m->name);
}

/* A member that was not compared in anything. */
static struct nb_known_member unknown_of(const struct nb_member *said)
{
    struct nb_known_member unknown = {.said = *said, .agrees = -1, .same = -1};
    memset(unknown.same_in, -1, sizeof unknown.same_in);
    return unknown;
}

/* A member that is ahead of this node cannot be compared yet: what was found before holds. */
static struct nb_known_member before_of(const struct nb_known *known, const struct nb_member *m)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->list[i].said.name, m->name) == 0)
            return known->list[i];
    return unknown_of(m);
}

static struct nb_known_member known_of(struct nb_nodes *n, const struct nb_known *known,
                                       const struct nb_member *m, const char *self)
{
    struct nb_known_member found = unknown_of(m);
    found.is_self = strcmp(m->name, self) == 0;
    if (found.is_self) {
        found.agrees = found.same = 1;
        return found;
    }
    const struct nb_known_member before = before_of(known, m);
    found.agrees = agrees(n, m);
    if (found.agrees < 0)
        found.agrees = before.agrees;
    compare(n, &before, &found);
    return found;
}

int nb_known_set(struct nb_known *known, struct nb_nodes *n, const struct nb_member *members,
                 size_t count, const char *self, const struct nb_member_ages *ages)
{
    struct nb_known_member *list = malloc((count + 1) * sizeof *list);
    size_t size = 0;
    if (list == NULL)
        return NB_NO_MEMORY;
    /* This thread alone changes the list: it reads it without the lock. */
    for (size_t i = 0; i < count; i++) {
        if (ages->now - members[i].heard > ages->known)
            continue;
        list[size] = known_of(n, known, &members[i], self);
        list[size++].silence = ages->now - members[i].heard;
    }
    pthread_mutex_lock(&known->lock);
    struct nb_known_member *old = known->list;
    known->list = list;
    known->count = size;
    known->read = nb_clock_monotonic();
    pthread_mutex_unlock(&known->lock);
    free(old);
    return 0;
}

/* Of this node itself it is known. */
static void note_places(const struct nb_nodes *n, struct nb_member *self)
{
    for (unsigned i = 0; i < n->lane_count && i < self->streams; i++)
        self->places[i].applied = atomic_load(&n->engine->standing.places[i].applied);
}

int nb_nodes_members(struct nb_nodes *n, struct nb_known_member **members, size_t *count,
                     struct nb_error *error)
{
    struct nb_known *known = n->known;
    pthread_mutex_lock(&known->lock);
    struct nb_known_member *list = malloc((known->count + 1) * sizeof *list);
    if (list != NULL) {
        if (known->count > 0)
            memcpy(list, known->list, known->count * sizeof *list);
        *count = known->count;
    }
    int64_t since = (int64_t)(nb_clock_monotonic() - known->read);
    pthread_mutex_unlock(&known->lock);
    if (list == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < *count; i++) {
        list[i].silence = list[i].is_self ? 0 : list[i].silence + since;
        if (list[i].is_self)
            note_places(n, &list[i].said);
    }
    *members = list;
    return 0;
}

#else

int nb_nodes_members(struct nb_nodes *nodes, struct nb_known_member **members, size_t *count,
                     struct nb_error *error)
{
    (void)nodes;
    *count = 0;
    *members = malloc(1);
    return *members != NULL ? 0 : nb_error_no_memory(error);
}

#endif
