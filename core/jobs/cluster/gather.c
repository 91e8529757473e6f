/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/cluster/gather.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/registry/registry.h"

enum { SLICE_DOCUMENTS = 500, ENDED = 1 };

void nb_gathered_deinit(struct nb_gathered *g)
{
    free(g->numbers);
    free(g->begin);
    free(g->columns);
    free(g->presence);
    free(g->used);
    free(g->word_rows);
    free(g->word_ids);
    free(g->found);
    free(g->scales);
    free(g->values);
    *g = (struct nb_gathered){0};
}

uint64_t nb_gathered_memory(const struct nb_gathered *g)
{
    return g->room * (sizeof *g->numbers + sizeof *g->begin) + g->size_room * sizeof *g->columns +
           g->found_room * sizeof *g->found + g->chosen_bytes;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct nb_gathered *gathered;
    const struct nb_model *counts;
    const struct nb_view *view;
    struct nb_rows bag;
    size_t begin_room, most;
    uint64_t from;
    unsigned seen; /* in this snapshot */
};

static int make_room(struct reading *r, size_t size)
{
    struct nb_gathered *g = r->gathered;
    if (nb_array_reserve(&g->numbers, &g->room, g->count + 1, sizeof *g->numbers) != 0 ||
        nb_array_reserve(&g->begin, &r->begin_room, g->count + 2, sizeof *g->begin) != 0 ||
        nb_array_reserve(&g->columns, &g->size_room, g->size + size + 1, sizeof *g->columns) != 0 ||
        nb_array_reserve(&g->found, &g->found_room, g->found_count + size + 1, sizeof *g->found) !=
            0)
        return NB_NO_MEMORY;
    return 0;
}

/* A number is kept now: its row may be another feature's when all documents are read. */
static void take_number(struct nb_gathered *g, uint64_t id)
{
    uint32_t attribute = nb_feature_part(id) / 2;
    if (attribute >= g->attributes.count ||
        g->attributes.list[attribute].kind != NB_FIELD_KIND_NUMBER)
        return;
    g->found[g->found_count++] = (struct nb_gathered_number){
        .number = id, .document = (uint32_t)g->count, .attribute = attribute};
}

/* The rows that are words or values, under the model's lock. */
static void take_rows(struct reading *r)
{
    struct nb_gathered *g = r->gathered;
    for (size_t i = 0; i < r->bag.size; i++) {
        uint32_t row = r->bag.counts[i].row;
        if (row >= nb_model_rows(r->counts))
            continue;
        uint64_t id = nb_model_row_id(r->counts, row);
        if (nb_feature_is_number(id))
            take_number(g, id);
        else if (nb_feature_is_token(id))
            g->columns[g->size++] = row;
    }
}

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_gathered *g = r->gathered;
    r->from = entry->number;
    if (r->seen++ >= SLICE_DOCUMENTS || nb_store_wanted(r->view))
        return ENDED;
    if (g->count == r->most)
        return nb_error_set(error, NB_TOO_LARGE, "more than %zu documents cannot be clustered",
                            r->most);
    nb_model_read_lock(r->counts);
    uint32_t rows = nb_model_rows(r->counts);
    int rc = nb_bag_decode(entry->change.bag, rows, &r->bag, error);
    if (rc == 0 && make_room(r, r->bag.size) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0) {
        g->begin[0] = 0;
        take_rows(r);
    }
    nb_model_unlock(r->counts);
    if (rc != 0)
        return rc;
    g->numbers[g->count++] = entry->number;
    g->begin[g->count] = g->size;
    r->from = entry->number + 1;
    return 0;
}

/* Returns ENDED when there is more to read. */
static int read_some(struct nb_engine *engine, const struct nb_live *live, bool all,
                     struct reading *r, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    r->view = &view;
    r->seen = 0;
    rc = nb_ledger_walk_only(&view, live->number, r->from,
                             all ? NB_LEDGER_LIVING : NB_LEDGER_UNLABELLED, take, r, error);
    nb_store_snapshot_end(&view);
    r->view = NULL;
    return rc;
}

int nb_gather(struct nb_engine *engine, struct nb_live *live, struct nb_attributes attributes,
              bool all, size_t most, bool (*stop)(void *user),
              int (*hold)(void *user, uint64_t bytes, struct nb_error *error), void *user,
              struct nb_gathered *gathered, struct nb_error *error)
{
    struct reading r = {.gathered = gathered, .counts = live->counts, .most = most};
    int rc = ENDED;
    *gathered = (struct nb_gathered){.attributes = attributes};
    while (rc == ENDED) {
        rc = stop != NULL && stop(user) ? nb_error_set(error, NB_STOPPING, "the daemon is stopping")
                                        : read_some(engine, live, all, &r, error);
        if ((rc == 0 || rc == ENDED) && hold != NULL &&
            hold(user, nb_gathered_memory(gathered), error) != 0)
            rc = error->code;
    }
    nb_rows_deinit(&r.bag);
    return rc;
}
