/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/quarantine/find.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/model/live/state.h"

enum {
    BYTES_MOST = 4 << 20, /* of one look */
    ENDED = 1,            /* the look has to end */
    MODEL_BYTES = 4,      /* of a key, before the id */
};

static void clear(struct nb_quarantine_search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        nb_buffer_deinit(&s->found[i].id);
        nb_buffer_deinit(&s->found[i].stored);
    }
    s->count = s->bytes = 0;
}

int nb_quarantine_search_begin(struct nb_quarantine_search *search,
                               const struct nb_quarantine_wish *wish, struct nb_string after)
{
    assert(wish->id_count == 0 || wish->ids != NULL);
    *search = (struct nb_quarantine_search){.wish = wish};
    return nb_buffer_append(&search->after, after.bytes, after.length);
}

void nb_quarantine_search_deinit(struct nb_quarantine_search *search)
{
    clear(search);
    free(search->found);
    nb_buffer_deinit(&search->after);
    *search = (struct nb_quarantine_search){.wish = NULL};
}

static int add(struct nb_quarantine_search *s, struct nb_string id, struct nb_string stored,
               struct nb_error *error)
{
    if (nb_array_reserve(&s->found, &s->room, s->count + 1, sizeof *s->found) != 0)
        return nb_error_no_memory(error);
    struct nb_quarantine_found *f = &s->found[s->count++];
    *f = (struct nb_quarantine_found){.id = {NULL, 0, 0}};
    s->bytes += id.length + stored.length;
    if (nb_buffer_append(&f->id, id.bytes, id.length) != 0 ||
        nb_buffer_append(&f->stored, stored.bytes, stored.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

static int look(struct nb_quarantine_search *s, struct nb_string id, struct nb_string stored,
                struct nb_error *error)
{
    struct nb_quarantined q;
    int rc = nb_quarantined_read(&q, stored, error);
    if (rc != 0)
        return rc;
    bool matches = q.time <= s->wish->until &&
                   (!s->wish->has_source || nb_string_same(q.source, s->wish->source));
    return matches ? add(s, id, stored, error) : 0;
}

static bool is_full(const struct nb_quarantine_search *s)
{
    return s->count >= s->most || s->bytes > BYTES_MOST || nb_store_wanted(s->view);
}

static int visit(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct nb_quarantine_search *s = user;
    assert(key.length >= MODEL_BYTES);
    struct nb_string id = nb_string_from(key, MODEL_BYTES);
    if (nb_string_same(id, (struct nb_string){s->after.bytes, s->after.length}))
        return 0;
    if (is_full(s))
        return ENDED;
    int rc = look(s, id, value, error);
    s->after.length = 0;
    if (rc == 0 && nb_buffer_append(&s->after, id.bytes, id.length) != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

static int look_for_ids(struct nb_quarantine_search *s, uint32_t model, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && s->next_id < s->wish->id_count && !is_full(s)) {
        struct nb_string id = s->wish->ids[s->next_id], value;
        struct nb_store_key key = nb_store_key_id(model, id);
        rc = nb_store_get(s->view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
        if (rc == 0)
            rc = look(s, id, value, error);
        rc = rc == NB_NOT_FOUND ? 0 : rc;
        s->next_id++;
    }
    s->is_done = s->next_id == s->wish->id_count;
    return rc;
}

int nb_quarantine_search_some(struct nb_quarantine_search *search, struct nb_engine *engine,
                              const struct nb_live *live, size_t most, struct nb_error *error)
{
    struct nb_quarantine_search *s = search;
    struct nb_view view;
    assert(s->wish != NULL && s->view == NULL && live->number != 0);
    clear(s);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    s->view = &view;
    s->most = most;
    if (s->wish->id_count > 0) {
        rc = look_for_ids(s, live->number, error);
    } else {
        struct nb_store_key from =
            nb_store_key_id(live->number, (struct nb_string){s->after.bytes, s->after.length});
        rc = nb_store_scan(&view, NB_TABLE_QUARANTINE, nb_store_key_string(&from), MODEL_BYTES,
                           visit, s, error);
        s->is_done = rc == 0;
        rc = rc == ENDED ? 0 : rc;
    }
    nb_store_snapshot_end(&view);
    s->view = NULL;
    return rc;
}

int nb_quarantine_tell(int rc, const struct nb_error *why, struct nb_error *error)
{
    if (rc != NB_CORRUPT)
        return rc >= 0 ? rc : nb_error_set(error, rc, "%s", why->text);
    return nb_error_set(error, NB_DAMAGED,
                        "the quarantine is damaged: drop all of it (bayesc quarantine drop --all)");
}
