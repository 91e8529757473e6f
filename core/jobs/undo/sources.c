/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/undo/sources.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/live/live.h"
#include "core/model/live/state.h"
#include "core/model/registry/registry.h"

enum {
    ENTRIES_MOST = 50000, /* examined in one snapshot: less than half a second */
    SNAPSHOT_ENDS = 1,    /* what `visit` returns */
    CALL_ENDS = 2,
};

struct counting {
    struct nb_sources *sources;
    struct nb_view view;
    uint64_t at;   /* the next entry */
    uint64_t most; /* documents */
    size_t seen;   /* in this snapshot */
    size_t last;   /* index of the row found last: many entries in a row have one source */
};

void nb_sources_deinit(struct nb_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        free(sources->rows[i].name);
    free(sources->rows);
    *sources = (struct nb_sources){.rows = NULL};
}

static struct nb_source *find(struct counting *c, struct nb_string name)
{
    const struct nb_sources *s = c->sources;
    if (c->last < s->count && nb_string_equals(name, s->rows[c->last].name))
        return &s->rows[c->last];
    for (c->last = 0; c->last < s->count; c->last++)
        if (nb_string_equals(name, s->rows[c->last].name))
            return &s->rows[c->last];
    return NULL;
}

/* Adds a row, which becomes the last one found. Returns 0 or NB_NO_MEMORY. */
static int add(struct counting *c, const struct nb_change *change)
{
    struct nb_sources *s = c->sources;
    char *name = nb_string_copy(change->source);
    if (name == NULL || nb_array_reserve(&s->rows, &s->room, s->count + 1, sizeof *s->rows) != 0) {
        free(name);
        return NB_NO_MEMORY;
    }
    c->last = s->count;
    s->rows[s->count++] =
        (struct nb_source){.name = name, .first = change->time, .last = change->time};
    return 0;
}

static void count(struct nb_source *row, const struct nb_change *change)
{
    assert(row->first <= row->last && row->unlabelled <= row->documents);
    row->documents++;
    row->unlabelled += change->label == NB_NO_LABEL;
    row->first = change->time < row->first ? change->time : row->first;
    row->last = change->time > row->last ? change->time : row->last;
}

static int visit(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct counting *c = user;
    struct nb_sources *s = c->sources;
    c->at = entry->number;
    if (s->documents == c->most)
        return CALL_ENDS;
    if (c->seen++ == ENTRIES_MOST || nb_store_wanted(&c->view))
        return SNAPSHOT_ENDS;
    if (find(c, entry->change.source) == NULL) {
        if (s->count == NB_SOURCES_MOST)
            return CALL_ENDS;
        if (add(c, &entry->change) != 0)
            return nb_error_no_memory(error);
    }
    assert(c->last < s->count);
    count(&s->rows[c->last], &entry->change);
    s->documents++;
    c->at++;
    return 0;
}

/* Continues to count in a new snapshot. Returns the code of `visit`; 0: the end of the ledger. */
static int count_some(struct counting *c, struct nb_engine *engine, const struct nb_live *live,
                      struct nb_error *error)
{
    int rc = nb_store_snapshot(engine->store, &c->view, error);
    if (rc != 0)
        return rc;
    c->seen = 0;
    rc = nb_ledger_walk_only(&c->view, live->number, c->at, NB_LEDGER_LIVING, visit, c, error);
    nb_store_snapshot_end(&c->view);
    return rc;
}

static int by_documents(const void *a, const void *b)
{
    const struct nb_source *left = a, *right = b;
    if (left->documents != right->documents)
        return left->documents > right->documents ? -1 : 1;
    return strcmp(left->name, right->name);
}

int nb_engine_sources(struct nb_engine *engine, struct nb_string model, uint64_t from,
                      uint64_t most, bool (*stop)(void *user), void *user,
                      struct nb_sources *sources, struct nb_error *error)
{
    struct counting c = {.sources = sources, .at = from, .most = most};
    struct nb_live *live;
    struct nb_error why = {0};
    *sources = (struct nb_sources){.rows = NULL};
    int rc = nb_registry_find(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_live_check(live, &why);
    for (int step = SNAPSHOT_ENDS; rc == 0 && step == SNAPSHOT_ENDS;) {
        step = stop != NULL && stop(user)
                   ? nb_error_set(&why, NB_STOPPING, "the daemon is stopping")
                   : count_some(&c, engine, live, &why);
        rc = step < 0 ? step : 0;
        sources->next = step == CALL_ENDS ? c.at : 0;
    }
    rc = rc < 0 ? nb_live_note(live, rc, &why, error) : 0;
    nb_registry_release(engine, &live);
    if (sources->count > 0)
        qsort(sources->rows, sources->count, sizeof *sources->rows, by_documents);
    return rc;
}
