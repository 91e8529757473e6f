/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the tokens with the most evidence for a label. A walk over all rows keeps the best tokens.
 * It takes the read lock for a bounded number of rows at a time, so that the writer never waits
 * long. The listing is handed out token by token, so that its memory does not grow with tokens
 * times labels.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/engine/engine.h"
#include "core/ledger/ledger_features.h"
#include "core/model/live.h"
#include "core/model/registry.h"
#include "core/writer/writer.h"

enum { STEP_ROWS = 16384 };

struct candidate {
    double evidence;
    uint64_t feature;
    uint32_t row;
};

struct search {
    struct nb_live *live;
    struct nb_scorer *scorer;
    uint32_t label;
    struct nb_heap heap;
    /* For the listing. */
    struct nb_row_texts texts;
    const struct nb_vocabulary_sink *sink;
    uint32_t *numbers; /* owned; label numbers in the order of their names */
    char **names;      /* owned */
    uint64_t *counts;  /* owned; of one token */
    size_t label_count;
};

/* More evidence comes first; of equal evidence, the lower row. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    if (x->evidence > y->evidence || x->evidence < y->evidence)
        return x->evidence > y->evidence ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void offer(struct search *s, uint32_t row)
{
    struct candidate c = {nb_row_evidence(s->scorer, s->live->counts, row, s->label),
                          nb_model_row_id(s->live->counts, row), row};
    nb_heap_add(&s->heap, &c);
}

static bool in_vocabulary(const struct nb_model *counts, uint32_t row)
{
    struct nb_cell cell;
    return nb_model_cells(counts, row, &cell, 1) > 0 &&
           nb_feature_is_token(nb_model_row_id(counts, row));
}

/* Every step is consistent in itself; training may go on between steps. */
static void walk(struct search *s)
{
    const struct nb_model *counts = s->live->counts;
    uint32_t rows = 1;
    for (uint32_t row = 0; row < rows;) {
        nb_model_read_lock(counts);
        rows = nb_model_rows(counts);
        for (uint32_t i = 0; i < STEP_ROWS && row < rows; i++, row++)
            if (in_vocabulary(counts, row))
                offer(s, row);
        nb_model_unlock(counts);
    }
}

/* ---- the listing ----------------------------------------------------------------------------- */

/* Reads the counts of a candidate. Returns whether its row still has its feature: a row whose
 * documents are gone is dropped, and another feature may take it. */
static bool read_counts(struct search *s, const struct candidate *candidate)
{
    const struct nb_model *counts = s->live->counts;
    nb_model_read_lock(counts);
    bool there = candidate->row < nb_model_rows(counts) &&
                 nb_model_row_id(counts, candidate->row) == candidate->feature;
    for (size_t i = 0; there && i < s->label_count; i++)
        s->counts[i] = nb_model_count(counts, candidate->row, s->numbers[i]);
    nb_model_unlock(counts);
    return there;
}

/* A candidate and its text. The store may not have the text yet. */
struct sought {
    struct search *search;
    const struct candidate *candidate;
    struct nb_string text;
};

/* Returns 0 with the text, NB_NOT_FOUND (the row has another feature by now, or no text in the
 * store), or a code. */
static int find_text(struct sought *sought, struct nb_error *error)
{
    const struct candidate *c = sought->candidate;
    if (!read_counts(sought->search, c))
        return NB_NOT_FOUND;
    return nb_row_texts_get(&sought->search->texts, c->row, c->feature, &sought->text, NULL, error);
}

/* On the writer's thread, where the counts in memory match the store. */
static int find_committed(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct sought *sought = argument;
    (void)engine;
    int rc = find_text(sought, error);
    return rc == NB_NOT_FOUND && read_counts(sought->search, sought->candidate)
               ? nb_error_set(error, NB_CORRUPT,
                              "the store is damaged: a feature's text is missing")
               : rc;
}

/* The writer changes the counts before it commits. So a missing text may come with the next commit,
 * or never if that fails. Only the writer can distinguish this from damage. */
static int list_token(struct nb_engine *engine, struct search *s, const struct candidate *candidate,
                      struct nb_error *error)
{
    struct sought sought = {.search = s, .candidate = candidate};
    int rc = find_text(&sought, error);
    if (rc == NB_NOT_FOUND && read_counts(s, candidate)) {
        nb_row_texts_rest(&s->texts);
        rc = nb_writer_run(engine, find_committed, &sought, error);
    }
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    const struct nb_telling_token token = {
        .token = sought.text, .counts = s->counts, .evidence = candidate->evidence};
    return s->sink->token(s->sink->user, &token);
}

static int copy_labels(struct search *s)
{
    const struct nb_model *counts = s->live->counts;
    size_t count = nb_model_label_count(counts);
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    s->numbers = calloc(count + 1, sizeof *s->numbers);
    s->counts = malloc((count + 1) * sizeof *s->counts);
    s->names = calloc(count + 1, sizeof *s->names);
    if (s->numbers == NULL || s->counts == NULL || s->names == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        s->numbers[s->label_count] = sorted[i];
        s->names[s->label_count] = strdup(nb_model_label_name(counts, sorted[i]).bytes);
        if (s->names[s->label_count] == NULL)
            return NB_NO_MEMORY;
        s->label_count++;
    }
    return 0;
}

static int list(struct nb_engine *engine, struct search *s, struct nb_error *error)
{
    nb_model_read_lock(s->live->counts);
    uint64_t size = nb_model_vocabulary(s->live->counts, NB_ALL_TOKENS);
    int rc = copy_labels(s);
    nb_model_unlock(s->live->counts);
    if (rc != 0)
        return nb_error_no_memory(error);
    rc = nb_row_texts_begin(&s->texts, engine->store, s->live->number, s->live->key, error);
    if (rc == 0)
        rc = s->sink->header(s->sink->user, size, (const char *const *)s->names, s->label_count);
    const struct candidate *best = s->heap.items;
    for (size_t i = 0; rc == 0 && i < s->heap.count; i++)
        rc = list_token(engine, s, &best[i], error);
    nb_row_texts_end(&s->texts);
    return rc;
}

/* ---- the search ------------------------------------------------------------------------------ */

static int prepare(struct search *s, struct nb_string label, size_t limit, size_t cells,
                   struct nb_error *error)
{
    const struct nb_model *counts = s->live->counts;
    nb_model_read_lock(counts);
    int rc = nb_live_label(s->live, label, &s->label, error);
    size_t rows = nb_model_rows(counts);
    size_t labels = nb_model_label_count(counts);
    nb_model_unlock(counts);
    if (rc != 0)
        return rc;
    assert(labels > 0);
    size_t fit = cells / labels > 0 ? cells / labels : 1;
    limit = limit < fit ? limit : fit;
    limit = limit < rows ? limit : rows;
    s->heap = (struct nb_heap){.items = malloc((limit + 1) * sizeof(struct candidate)),
                               .most = limit,
                               .item_size = sizeof(struct candidate),
                               .compare = compare};
    return s->heap.items == NULL ? nb_error_no_memory(error) : 0;
}

static void search_deinit(struct search *s)
{
    nb_strings_free(s->names, s->label_count);
    free(s->numbers);
    free(s->counts);
    free(s->heap.items);
}

int nb_engine_vocabulary(struct nb_engine *engine, struct nb_string model, struct nb_string label,
                         size_t limit, size_t cells, const struct nb_vocabulary_sink *sink,
                         struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_error why = {0};
    struct nb_published *published = nb_live_settings(live);
    struct search s = {.live = live, .scorer = published->scorer, .sink = sink};
    rc = prepare(&s, label, limit, cells, &why);
    if (rc == 0) {
        walk(&s);
        nb_heap_sort(&s.heap);
        rc = list(engine, &s, &why);
    }
    rc = nb_live_note(live, rc, &why, error);
    search_deinit(&s);
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_unseen_values(struct nb_engine *engine, struct nb_string model,
                            void (*found)(void *user, const char *field, const char *value),
                            void *user, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(live);
    const struct nb_smoothing *by = &published->settings.smoothing_by;
    nb_model_read_lock(live->counts);
    for (size_t i = 0; i < by->value_count; i++) {
        const struct nb_field_smoothing *field = &by->fields[by->values[i].field];
        uint32_t row = nb_model_find(live->counts, by->values[i].id);
        if (row == NB_NO_ROW || nb_model_row_is_unused(live->counts, row))
            found(user, field->field, field->values[by->values[i].value].label);
    }
    nb_model_unlock(live->counts);
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return 0;
}
