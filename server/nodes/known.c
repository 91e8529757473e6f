/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/known.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "server/nodes/nodes_state.h"

struct merging {
    struct nb_known_member *list;
    size_t count, room;
};

/* What a node says of several streams becomes one: it is as silent as of the last of them, and has
 * learned the same if that is so of all of which it is known. */
static int merge_one(struct merging *m, const struct nb_known_member *one)
{
    size_t at = 0;
    while (at < m->count && strcmp(m->list[at].name, one->name) != 0)
        at++;
    if (at < m->count) {
        struct nb_known_member *to = &m->list[at];
        to->applied += one->applied;
        to->streams |= one->streams;
        to->silence = one->silence < to->silence ? one->silence : to->silence;
        to->same = to->same == 0 || one->same < 0 ? to->same : one->same;
        return 0;
    }
    if (nb_array_reserve(&m->list, &m->room, m->count + 1, sizeof *m->list) != 0)
        return NB_NO_MEMORY;
    m->list[m->count++] = *one;
    return 0;
}

static int merge_lane(struct merging *m, struct nb_lane *l)
{
    int rc = 0;
    pthread_mutex_lock(&l->lock);
    int64_t since = (int64_t)(nb_clock_monotonic() - l->members_read);
    for (size_t i = 0; rc == 0 && i < l->member_count; i++) {
        struct nb_known_member one = l->members[i];
        one.silence = one.is_self ? 0 : one.silence + since;
        if (one.is_self)
            one.applied = atomic_load(&l->nodes->engine->standing.places[l->which].applied);
        rc = merge_one(m, &one);
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

int nb_nodes_members(struct nb_nodes *n, struct nb_known_member **members, size_t *count,
                     struct nb_error *error)
{
    struct merging m = {.list = malloc(sizeof *m.list), .room = 1};
    int rc = m.list == NULL ? NB_NO_MEMORY : 0;
    for (unsigned i = 0; rc == 0 && i < n->lane_count; i++)
        if (n->lanes[i].is_started)
            rc = merge_lane(&m, &n->lanes[i]);
    if (rc != 0) {
        free(m.list);
        return nb_error_no_memory(error);
    }
    *members = m.list;
    *count = m.count;
    return 0;
}

static int by_silence(const void *a, const void *b)
{
    int64_t x = ((const struct nb_known_member *)a)->silence;
    int64_t y = ((const struct nb_known_member *)b)->silence;
    return (x > y) - (x < y);
}

int nb_nodes_list_followers(struct nb_nodes *n, struct nb_string model, size_t most,
                            struct nb_buffer *urls)
{
    struct nb_known_member *members = NULL;
    size_t count = 0;
    unsigned stream = nb_relay_stream(model, n->lane_count);
    int rc = nb_nodes_members(n, &members, &count, NULL);
    if (rc != 0)
        return rc;
    qsort(members, count, sizeof *members, by_silence);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct nb_known_member *m = &members[i];
        size_t size = strlen(m->url) + 1;
        if (!m->is_self && size > 1 && urls->length + size <= most && (m->streams >> stream & 1))
            rc = nb_buffer_append(urls, m->url, size);
    }
    free(members);
    return rc;
}
