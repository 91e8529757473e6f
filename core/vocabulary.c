/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens most telling for a label: a walk over all rows that keeps the best in a heap, a step
 * of rows at a time, so that the writer never waits long for the read lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine_private.h"

enum { STEP_ROWS = 16384, ID_DIGITS = 17 };

struct candidate {
    double evidence;
    uint32_t row;
};

struct search {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_scorer *scorer;
    uint32_t label;
    struct candidate *heap; /* the weakest on top */
    size_t size, limit;
};

/* Weaker means less evidence; of equal ones the later seen. */
static bool weaker(struct candidate a, struct candidate b)
{
    return a.evidence < b.evidence || (a.evidence <= b.evidence && a.row > b.row);
}

static void sift_down(struct candidate *heap, size_t size, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= size)
            return;
        if (child + 1 < size && weaker(heap[child + 1], heap[child]))
            child++;
        if (!weaker(heap[child], heap[at]))
            return;
        struct candidate c = heap[at];
        heap[at] = heap[child];
        heap[child] = c;
        at = child;
    }
}

static void offer(struct search *s, struct candidate c)
{
    if (s->size < s->limit) {
        size_t at = s->size++;
        while (at > 0 && weaker(c, s->heap[(at - 1) / 2])) {
            s->heap[at] = s->heap[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        s->heap[at] = c;
    } else if (s->limit > 0 && weaker(s->heap[0], c)) {
        s->heap[0] = c;
        sift_down(s->heap, s->size, 0);
    }
}

static bool in_vocabulary(const struct nb_model *counts, uint32_t row)
{
    struct nb_cell cell;
    return nb_field_is_token(nb_feature_field(nb_model_row_id(counts, row))) &&
           nb_model_cells(counts, row, &cell, 1) > 0;
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
                offer(s,
                      (struct candidate){nb_row_evidence(s->scorer, counts, row, s->label), row});
        nb_model_unlock(counts);
    }
}

/* The text of a feature: the run of words that its row lies in, or its id if words are not kept. */
int nb_word_of_row(const struct nb_view *view, const struct nb_live *live, uint32_t row,
                   char **text, size_t *length, struct nb_error *error)
{
    struct nb_store_key model = nb_store_key_model(live->number);
    struct nb_store_key from = nb_store_key_number(live->number, row);
    struct nb_string key;
    struct nb_string value;
    struct nb_string word = {NULL, 0};
    int rc = nb_store_floor(view, NB_TABLE_WORDS, nb_store_key_string(&from), model.length, &key,
                            &value, error);
    if (rc != 0 && rc != NB_NOT_FOUND)
        return rc;
    if (rc == 0) {
        struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
        uint64_t at = nb_store_key_tail(key);
        for (; at <= row && r.at < r.end && !r.failed; at++)
            word = nb_unpack_string(&r);
        if (r.failed || at != (uint64_t)row + 1)
            word = (struct nb_string){NULL, 0};
    }
    char id[ID_DIGITS + 1];
    if (word.length == 0) {
        int digits = snprintf(id, sizeof id, "#%016" PRIx64, nb_model_row_id(live->counts, row));
        word = (struct nb_string){id, (size_t)digits};
    }
    *text = malloc(word.length + 1);
    if (*text == NULL)
        return nb_error_no_memory(error);
    memcpy(*text, word.bytes, word.length);
    (*text)[word.length] = '\0';
    *length = word.length;
    return 0;
}

void nb_vocabulary_deinit(struct nb_vocabulary *vocabulary)
{
    for (size_t i = 0; i < vocabulary->label_count; i++)
        free(vocabulary->labels[i]);
    for (size_t i = 0; i < vocabulary->count; i++) {
        free(vocabulary->tokens[i].token);
        free(vocabulary->tokens[i].counts);
    }
    free(vocabulary->labels);
    free(vocabulary->tokens);
    *vocabulary = (struct nb_vocabulary){0};
}

static int fill_labels(const struct nb_model *counts, struct nb_vocabulary *v)
{
    size_t count = nb_model_label_count(counts);
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    v->labels = calloc(count + 1, sizeof *v->labels);
    if (v->labels == NULL)
        return NB_NO_MEMORY;
    for (; v->label_count < count; v->label_count++) {
        struct nb_string name = nb_model_label_name(counts, sorted[v->label_count]);
        v->labels[v->label_count] = strdup(name.bytes);
        if (v->labels[v->label_count] == NULL)
            return NB_NO_MEMORY;
    }
    return 0;
}

static int fill_counts(const struct nb_model *counts, uint32_t row, const struct nb_vocabulary *v,
                       struct nb_telling_token *token)
{
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    token->counts = calloc(v->label_count + 1, sizeof *token->counts);
    if (token->counts == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < v->label_count; i++)
        token->counts[i] = nb_model_count(counts, row, sorted[i]);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    return weaker(*x, *y) ? 1 : weaker(*y, *x) ? -1 : 0;
}

static int fill(struct search *s, struct nb_vocabulary *v, struct nb_error *error)
{
    const struct nb_model *counts = s->live->counts;
    struct nb_view view;
    int rc = nb_store_snapshot(s->engine->store, &view, error);
    if (rc != 0)
        return rc;
    v->tokens = calloc(s->size + 1, sizeof *v->tokens);
    rc = v->tokens == NULL ? NB_NO_MEMORY : 0;
    for (size_t i = 0; rc == 0 && i < s->size; i++) {
        struct nb_telling_token *token = &v->tokens[v->count++];
        token->evidence = s->heap[i].evidence;
        rc = nb_word_of_row(&view, s->live, s->heap[i].row, &token->token, &token->length, error);
    }
    nb_store_snapshot_end(&view);
    nb_model_read_lock(counts);
    v->size = nb_model_vocabulary(counts, NB_FIELDS);
    if (rc == 0)
        rc = fill_labels(counts, v);
    for (size_t i = 0; rc == 0 && i < s->size; i++)
        rc = fill_counts(counts, s->heap[i].row, v, &v->tokens[i]);
    nb_model_unlock(counts);
    return rc;
}

static int search(struct search *s, struct nb_string label, struct nb_vocabulary *vocabulary,
                  struct nb_error *error)
{
    nb_model_read_lock(s->live->counts);
    s->label = nb_model_find_label(s->live->counts, label);
    uint32_t rows = nb_model_rows(s->live->counts);
    nb_model_unlock(s->live->counts);
    if (s->label == UINT32_MAX)
        return nb_error_set(error, NB_NOT_FOUND, "model '%s' has no label '%.*s'", s->live->name,
                            (int)label.length, label.bytes);
    if (s->limit > rows)
        s->limit = rows;
    s->heap = malloc((s->limit + 1) * sizeof *s->heap);
    if (s->heap == NULL)
        return nb_error_no_memory(error);
    walk(s);
    qsort(s->heap, s->size, sizeof *s->heap, compare);
    int rc = fill(s, vocabulary, error);
    free(s->heap);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

int nb_engine_vocabulary(struct nb_engine *engine, struct nb_string model, struct nb_string label,
                         size_t limit, struct nb_vocabulary *vocabulary, struct nb_error *error)
{
    struct nb_live *live;
    *vocabulary = (struct nb_vocabulary){0};
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(live);
    struct search s = {.engine = engine, .live = live, .scorer = published->scorer, .limit = limit};
    rc = search(&s, label, vocabulary, error);
    if (rc != 0)
        nb_vocabulary_deinit(vocabulary);
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return rc;
}
