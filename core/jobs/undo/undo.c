/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/undo/undo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/jobs/undo/undo_find.h"
#include "core/ledger/ledger.h"
#include "core/model/live.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/model/state.h"

/* ---- sources --------------------------------------------------------------------------------- */

enum { ENTRIES_MOST = 50000 }; /* examined in one snapshot: less than half a second */

struct counting {
    struct nb_sources *sources;
    uint64_t most; /* most documents to count */
    bool is_full;  /* the next entry does not fit this call */
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

static int count_entry(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct counting *c = user;
    struct nb_sources *s = c->sources;
    bool is_known = find(c, entry->change.source) != NULL;
    c->is_full = s->documents == c->most || (!is_known && s->count == NB_SOURCES_MOST);
    if (c->is_full)
        return NB_STEP_ENDS;
    if (!is_known && add(c, &entry->change) != 0)
        return nb_error_no_memory(error);
    assert(c->last < s->count);
    count(&s->rows[c->last], &entry->change);
    s->documents++;
    return 0;
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
    struct counting c = {.sources = sources, .most = most};
    struct nb_ledger_steps steps = {.store = engine->store,
                                    .only = NB_LEDGER_LIVING,
                                    .most = ENTRIES_MOST,
                                    .visit = count_entry,
                                    .user = &c,
                                    .from = from};
    struct nb_live *live;
    struct nb_error why = {0};
    *sources = (struct nb_sources){.rows = NULL};
    int rc = nb_registry_find(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    steps.model = live->number;
    rc = nb_live_check(live, &why);
    while (rc == 0 && !steps.is_done && !c.is_full) {
        rc = nb_step_check(stop, user, &why);
        if (rc == 0)
            rc = nb_ledger_step(&steps, &why);
    }
    sources->next = rc == 0 && c.is_full ? steps.from : 0;
    rc = nb_live_note(live, rc, &why, error);
    nb_registry_release(engine, &live);
    if (sources->count > 0)
        qsort(sources->rows, sources->count, sizeof *sources->rows, by_documents);
    return rc;
}

/* ---- undo ------------------------------------------------------------------------------------ */

enum { STEP_DOCUMENTS = 500 };

/* An undo under way. */
struct undoing {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_string model, source;
    const struct nb_undo_options *options;
    struct nb_undo_search search;
    struct nb_undo_report *report;
    size_t label_room;
};

void nb_undo_report_deinit(struct nb_undo_report *report)
{
    for (size_t i = 0; i < report->label_count; i++)
        free(report->labels[i].label);
    free(report->labels);
    *report = (struct nb_undo_report){0};
}

/* ---- notes ----------------------------------------------------------------------------------- */

struct listing {
    int (*visit)(void *user, const struct nb_undo_note *note);
    void *user;
};

/* Lists a note of an undo that took something back. */
static int list_note(void *user, struct nb_entry *entry, struct nb_error *error)
{
    const struct listing *l = user;
    struct nb_undo_note note;
    int rc = nb_undo_note_read(entry, &note, error);
    if (rc != 0 || note.documents == 0)
        return rc;
    return l->visit(l->user, &note);
}

int nb_engine_undone(struct nb_engine *engine, struct nb_string model, uint64_t from,
                     int (*visit)(void *user, const struct nb_undo_note *note), void *user,
                     struct nb_error *error)
{
    struct nb_live *live;
    struct nb_view view;
    struct nb_error why = {0};
    struct listing listing = {visit, user};
    int rc = nb_registry_find(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_live_check(live, &why);
    if (rc == 0)
        rc = nb_store_snapshot(engine->store, &view, &why);
    if (rc == 0) {
        rc = nb_ledger_walk_only(&view, live->number, from, NB_LEDGER_NOTES, list_note, &listing,
                                 &why);
        nb_store_snapshot_end(&view);
    }
    rc = rc < 0 ? nb_live_note(live, rc, &why, error) : rc;
    nb_registry_release(engine, &live);
    return rc;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* `name` ends with a NUL. */
static int count_label(struct undoing *u, const char *name)
{
    struct nb_undo_report *r = u->report;
    size_t i = 0;
    while (i < r->label_count && strcmp(r->labels[i].label, name) != 0)
        i++;
    if (i == r->label_count) {
        char *copy = strdup(name);
        if (copy == NULL ||
            nb_array_reserve(&r->labels, &u->label_room, i + 1, sizeof *r->labels) != 0) {
            free(copy);
            return NB_NO_MEMORY;
        }
        r->labels[r->label_count++] = (struct nb_undo_label){.label = copy};
    }
    r->labels[i].documents++;
    return 0;
}

static int count_found(struct undoing *u, const struct nb_undo_found *f, bool restored,
                       struct nb_error *error)
{
    struct nb_undo_report *r = u->report;
    r->documents++;
    r->restored += restored;
    r->forgotten += !restored;
    r->unknown_before += f->unknown_before || (!restored && f->restored != 0);
    if (f->label == NB_NO_LABEL)
        return 0;
    nb_model_read_lock(u->live->counts);
    const char *name = f->label < nb_model_label_count(u->live->counts)
                           ? nb_model_label_name(u->live->counts, f->label).bytes
                           : "";
    nb_model_unlock(u->live->counts);
    return count_label(u, name) == 0 ? 0 : nb_error_no_memory(error);
}

/* ---- one step -------------------------------------------------------------------------------- */

static int fill_batch(struct undoing *u, struct nb_batch *batch, struct nb_error *error)
{
    struct nb_buffer asked = {0};
    int rc = nb_undo_options_write(u->options, &asked) != 0 ? nb_error_no_memory(error) : 0;
    if (rc == 0)
        rc = nb_batch_note(batch, (struct nb_string){asked.bytes, asked.length},
                           (uint32_t)u->search.count, u->source, error);
    nb_buffer_deinit(&asked);
    for (size_t i = 0; rc == 0 && i < u->search.count; i++) {
        const struct nb_undo_found *f = &u->search.found[i];
        rc = nb_batch_take_back(batch, (struct nb_string){f->id, f->id_length}, f->number,
                                f->restored, u->source, error);
    }
    return rc;
}

/* The first receipt is the note's. */
static int count_receipts(struct undoing *u, const struct nb_batch *batch, struct nb_error *error)
{
    int rc = nb_batch_receipt(batch, 0)->code;
    if (rc != 0)
        *error = nb_batch_receipt(batch, 0)->error;
    assert(nb_batch_size(batch) == u->search.count + 1);
    for (size_t i = 0; i < u->search.count; i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(batch, i + 1);
        int mine = 0;
        if (receipt->code == 0) {
            struct nb_error why;
            mine = count_found(u, &u->search.found[i], receipt->status != NB_FORGOTTEN, &why);
            if (mine != 0 && rc == 0)
                *error = why;
        } else if (receipt->code == NB_CONFLICT) {
            u->report->changed_since++;
        } else {
            mine = receipt->code;
            if (rc == 0)
                *error = receipt->error;
        }
        rc = rc != 0 ? rc : mine;
    }
    return rc;
}

/* Whether the note of an undo that takes nothing back is needed. If what it asks for lies behind
 * changes of others, an undo of these must not bring it back. */
static bool needs_note(const struct undoing *u)
{
    return u->search.is_done && u->search.lies_behind && u->report->documents == 0 &&
           u->report->changed_since == 0;
}

static int step(struct undoing *u, size_t most, struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    int rc = nb_undo_search_some(&u->search, most, error);
    if (rc != 0 || (u->search.count == 0 && !needs_note(u)))
        return rc;
    rc = nb_batch_new_of(u->engine, u->live, &batch, error);
    if (rc == 0)
        rc = fill_batch(u, batch, error);
    if (rc == 0) {
        nb_engine_apply(u->engine, batch);
        rc = count_receipts(u, batch, error);
    }
    nb_batch_free(&batch);
    return rc;
}

static size_t step_size(const struct undoing *u, uint64_t most)
{
    uint64_t done = u->report->documents + u->report->changed_since;
    uint64_t left = most == 0 ? STEP_DOCUMENTS : most - done;
    return left < STEP_DOCUMENTS ? (size_t)left : STEP_DOCUMENTS;
}

static bool has_done(const struct undoing *u, uint64_t most)
{
    return most != 0 && u->report->documents + u->report->changed_since >= most;
}

/* ---- the whole job --------------------------------------------------------------------------- */

static int begin(struct undoing *u, uint64_t from, struct nb_error *error)
{
    *u->report = (struct nb_undo_report){0};
    int rc = nb_check_source(u->source, error);
    if (rc == 0)
        rc = nb_registry_acquire(u->engine, u->model, false, &u->live, error);
    if (rc == 0)
        rc = nb_undo_search_begin(&u->search, u->engine, u->live, u->options, from, error);
    return rc;
}

static int end(struct undoing *u, int rc, const struct nb_error *why, struct nb_error *error)
{
    if (u->live == NULL) {
        if (error != NULL)
            *error = *why;
        return rc;
    }
    rc = nb_live_note(u->live, rc, why, error);
    nb_undo_search_deinit(&u->search);
    nb_registry_release(u->engine, &u->live);
    return rc;
}

int nb_engine_undo(struct nb_engine *engine, struct nb_string model,
                   const struct nb_undo_options *options, uint64_t from, uint64_t most,
                   struct nb_string source, bool (*stop)(void *user), void *user,
                   struct nb_undo_report *report, struct nb_error *error)
{
    struct undoing u = {
        .engine = engine, .model = model, .source = source, .options = options, .report = report};
    struct nb_error why = {0};
    if (nb_relay_catch_up(engine, model, true, error) != 0)
        return error->code;
    int rc = begin(&u, from, &why);
    while (rc == 0 && !u.search.is_done && !has_done(&u, most)) {
        rc = nb_step_check(stop, user, &why);
        if (rc == 0)
            rc = step(&u, step_size(&u, most), &why);
    }
    if (rc == 0 && !u.search.is_done)
        report->next = u.search.from;
    return end(&u, rc, &why, error);
}

/* ---- trying out ------------------------------------------------------------------------------ */

static int by_first(const void *a, const void *b)
{
    uint64_t x = ((const struct nb_evaluation_change *)a)->first;
    uint64_t y = ((const struct nb_evaluation_change *)b)->first;
    return (x > y) - (x < y);
}

static int collect(struct undoing *u, struct nb_evaluation_change **changes, size_t *count,
                   struct nb_error *error)
{
    size_t room = 0;
    int rc = 0;
    while (rc == 0 && !u->search.is_done) {
        rc = nb_undo_search_some(&u->search, STEP_DOCUMENTS, error);
        if (rc == 0 &&
            nb_array_reserve(changes, &room, *count + u->search.count + 1, sizeof **changes) != 0)
            rc = nb_error_no_memory(error);
        for (size_t i = 0; rc == 0 && i < u->search.count; i++) {
            const struct nb_undo_found *f = &u->search.found[i];
            assert(*changes != NULL && *count < room);
            (*changes)[(*count)++] =
                (struct nb_evaluation_change){.first = f->first, .label = f->restored_label};
            rc = count_found(u, f, f->restored != 0, error);
        }
    }
    if (*count > 1)
        qsort(*changes, *count, sizeof **changes, by_first);
    return rc;
}

/* A model whose documents have no scores has no evaluation: that is no failure here. */
static int evaluate(const struct undoing *u, const struct nb_evaluation_change *changes,
                    size_t count, struct nb_evaluation_report *report, struct nb_error *error)
{
    int rc = nb_engine_evaluation_without(u->engine, u->model, changes, count, report, error);
    if (rc != NB_CONFLICT)
        return rc;
    *report = (struct nb_evaluation_report){0};
    return 0;
}

int nb_engine_undo_try(struct nb_engine *engine, struct nb_string model,
                       const struct nb_undo_options *options, struct nb_undo_report *report,
                       struct nb_evaluation_report *now, struct nb_evaluation_report *without,
                       struct nb_error *error)
{
    struct undoing u = {
        .engine = engine, .model = model, .source = {"", 0}, .options = options, .report = report};
    struct nb_evaluation_change *changes = NULL;
    struct nb_error why = {0};
    size_t count = 0;
    *now = *without = (struct nb_evaluation_report){0};
    int rc = begin(&u, 0, &why);
    if (rc == 0)
        rc = collect(&u, &changes, &count, &why);
    if (rc == 0)
        rc = evaluate(&u, NULL, 0, now, &why);
    if (rc == 0)
        rc = evaluate(&u, changes, count, without, &why);
    free(changes);
    return end(&u, rc, &why, error);
}
