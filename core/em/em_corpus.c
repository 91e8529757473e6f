/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/em_corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/bayes/settings.h"
#include "core/counts/counts.h"
#include "core/stack/blend_private.h"

enum { SLICE_WORDS = 4096 };

static void viewed_deinit(struct nb_viewed *viewed)
{
    nb_strings_free(viewed->names, viewed->count);
    free(viewed->numbers);
    free(viewed->documents);
    free(viewed->shares);
    *viewed = (struct nb_viewed){.count = 0};
}

/* Called under the locks; the model must have documents. */
static int begin_view(struct nb_parent_chain *chain)
{
    const struct nb_besides none = {.count = 0};
    return nb_parent_chain_blend_beside(chain, NULL, &none, &chain->blend);
}

static bool speaks(const struct nb_parent_chain *chain)
{
    return chain->contributor_count > 0 && chain->contributors[0] == 0;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int make_room(struct nb_viewed *v, uint32_t size)
{
    v->names = calloc((size_t)size + 1, sizeof *v->names);
    v->numbers = calloc((size_t)size + 1, sizeof *v->numbers);
    v->documents = calloc((size_t)size + 1, sizeof *v->documents);
    v->shares = calloc((size_t)size + 1, sizeof *v->shares);
    bool good = v->names != NULL && v->numbers != NULL && v->documents != NULL && v->shares != NULL;
    return good ? 0 : NB_NO_MEMORY;
}

static int copy_labels(struct nb_viewed *v, const struct nb_blend *b, const struct nb_model *own)
{
    if (make_room(v, b->size) != 0)
        return NB_NO_MEMORY;
    while (v->count < b->size) {
        const struct nb_blend_label *label = &b->labels[v->count];
        v->names[v->count] = nb_string_copy(nb_string_of(label->name));
        if (v->names[v->count] == NULL)
            return NB_NO_MEMORY;
        v->numbers[v->count] = label->numbers[0];
        if (label->numbers[0] != NB_BLEND_NO_LABEL)
            v->documents[v->count] = (double)nb_model_documents(own, label->numbers[0]);
        v->count++;
    }
    return 0;
}

/* The priors are the scores, by the book, of a document without words. */
static int put_priors(struct nb_viewed *viewed, struct nb_blend *b)
{
    struct nb_scores scores = {0};
    int rc = nb_blend_score(b, NULL, 0, &scores, NULL);
    for (uint32_t v = 0; rc == 0 && v < viewed->count; v++)
        viewed->shares[v] = exp(scores.log_scores[v]);
    nb_scores_deinit(&scores);
    return rc;
}

int nb_viewed_read(struct nb_viewed *viewed, struct nb_parent_chain *chain)
{
    int rc = 0;
    *viewed = (struct nb_viewed){.count = 0};
    nb_parent_chain_lock(chain);
    if (speaks(chain)) {
        rc = begin_view(chain);
        if (rc == 0)
            rc = copy_labels(viewed, &chain->blend, chain->live[0]->counts);
        if (rc == 0)
            rc = put_priors(viewed, &chain->blend);
    }
    nb_parent_chain_unlock(chain);
    return rc;
}

uint32_t nb_viewed_label(const struct nb_viewed *viewed, const struct nb_blend *blend,
                         uint32_t place, uint32_t *at)
{
    const char *name = blend->labels[place].name;
    while (*at < viewed->count && strcmp(viewed->names[*at], name) < 0)
        ++*at;
    return *at < viewed->count && strcmp(viewed->names[*at], name) == 0 ? *at : UINT32_MAX;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void put_word(const struct nb_viewed *viewed, struct nb_blend *b, uint64_t id,
                     bool is_binary, double *counts)
{
    uint32_t rows[NB_BLEND_MOST] = {0};
    uint32_t at = 0;
    memset(counts, 0, viewed->count * sizeof *counts);
    nb_blend_find(b, id, rows);
    if (!nb_blend_read(b, rows))
        return;
    for (uint32_t place = 0; place < b->size; place++) {
        uint32_t v = nb_viewed_label(viewed, b, place, &at);
        if (v != UINT32_MAX)
            counts[v] = is_binary ? b->documents[place] : b->occurrences[place];
    }
}

int nb_viewed_counts(const struct nb_viewed *viewed, struct nb_parent_chain *chain, bool is_binary,
                     const uint64_t *ids, uint32_t words, double *counts)
{
    int rc = 0;
    for (uint32_t word = 0; rc == 0 && word < words;) {
        uint32_t until = words - word < SLICE_WORDS ? words : word + SLICE_WORDS;
        nb_parent_chain_lock(chain);
        if (speaks(chain))
            rc = begin_view(chain);
        for (; rc == 0 && word < until; word++)
            if (speaks(chain))
                put_word(viewed, &chain->blend, ids[word], is_binary,
                         counts + (size_t)word * viewed->count);
        nb_parent_chain_unlock(chain);
    }
    return rc;
}

void nb_corpus_part_deinit(struct nb_corpus_part *p)
{
    free(p->orders);
    free(p->begin);
    free(p->middle);
    free(p->end);
    free(p->labels);
    free(p->numbers);
    free(p->columns);
    free(p->counts);
}

void nb_corpus_deinit(struct nb_corpus *c)
{
    nb_corpus_part_deinit(&c->unlabelled);
    nb_corpus_part_deinit(&c->labelled);
    free(c->rows);
    free(c->ids);
    free(c->learned);
    free(c->groups);
    free(c->part_vocabulary);
    free(c->numbers);
    free(c->documents);
    free(c->word_counts);
    viewed_deinit(&c->viewed);
    *c = (struct nb_corpus){.words = 0};
}

uint32_t nb_corpus_place(const struct nb_corpus *c, uint32_t label)
{
    for (uint32_t v = 0; v < c->labels; v++)
        if (c->numbers[v] == label)
            return v;
    return UINT32_MAX;
}

/* ---- columns --------------------------------------------------------------------------------- */

enum { SLICE_ROWS = 4096 };

/* The words that remain after min_count and skip_top, counted over documents with and without a
 * label together. A scorer with the counts of both chooses the same words
 * (core/bayes/scorer.h). */
struct choice {
    bool filters;          /* false: all words remain, and nothing below is set */
    uint64_t *occurrences; /* owned; of each row */
    uint32_t rows;
    uint64_t least;
    bool skips;
    struct nb_word_rank skipped; /* the last word that skip_top leaves out */
};

static void choice_deinit(struct choice *choice)
{
    free(choice->occurrences);
    *choice = (struct choice){.filters = false};
}

static bool is_word(uint64_t id)
{
    return !nb_model_is_dropped(id) && nb_field_is_token(nb_feature_field(id));
}

/* Adds the occurrences in the model's own counts, and keeps the most frequent words in the heap. */
static void rank(struct choice *c, const struct nb_model *model, struct nb_heap *heap)
{
    for (uint32_t from = 0; from < c->rows; from += SLICE_ROWS) {
        nb_model_read_lock(model);
        uint32_t until = c->rows - from < SLICE_ROWS ? c->rows : from + SLICE_ROWS;
        for (uint32_t row = from; row < until && row < nb_model_rows(model); row++) {
            uint64_t id = nb_model_row_id(model, row);
            if (!is_word(id))
                continue;
            c->occurrences[row] += nb_counts_occurrences(model, nb_model_row(model, row));
            const struct nb_word_rank word = {c->occurrences[row], id};
            if (word.occurrences > 0 && heap->most > 0)
                nb_heap_add(heap, &word);
        }
        nb_model_unlock(model);
    }
}

/* Counts the model's first `rows` rows, and the documents without a label: of their `size`
 * features, number i has the row uses[i] and counts[i] occurrences. On success the caller deinits
 * *choice. Returns 0 or NB_NO_MEMORY. Takes the model's read lock for a few thousand rows at a
 * time.
 */
static int choice_make(struct choice *choice, const struct nb_settings *settings,
                       const struct nb_model *model, uint32_t rows, const uint32_t *uses,
                       const uint32_t *counts, size_t size)
{
    *choice = (struct choice){.filters = nb_settings_leave_words_out(settings),
                              .rows = rows,
                              .least = settings->min_count};
    if (!choice->filters)
        return 0;
    size_t most = settings->skip_top < rows ? (size_t)settings->skip_top : rows;
    struct nb_word_rank *items = calloc(most + 1, sizeof *items);
    choice->occurrences = calloc((size_t)rows + 1, sizeof *choice->occurrences);
    if (items == NULL || choice->occurrences == NULL) {
        free(items);
        choice_deinit(choice);
        return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < size; i++)
        choice->occurrences[uses[i]] += counts[i];
    struct nb_heap heap = {
        .items = items, .most = most, .item_size = sizeof *items, .compare = nb_word_rank_compare};
    rank(choice, model, &heap);
    choice->skips = heap.count > 0;
    if (choice->skips)
        choice->skipped = *(const struct nb_word_rank *)nb_heap_last(&heap);
    free(items);
    return 0;
}

/* Whether the word in a row, whose feature is `id`, remains. */
static bool choice_has(const struct choice *c, uint32_t row, uint64_t id)
{
    if (!c->filters)
        return true;
    if (row >= c->rows || c->occurrences[row] < c->least)
        return false;
    return !c->skips || nb_word_rank_is_behind(c->occurrences[row], id, &c->skipped);
}

enum { UNUSED, USED, WORD, OTHER }; /* kinds of rows */

static void mark(const struct nb_corpus_part *p, unsigned char *kinds)
{
    for (size_t i = 0; i < p->size; i++)
        kinds[p->columns[i]] = USED;
}

/* Whether a feature is a value of a field of the settings. */
static bool is_value(const struct nb_corpus *c, uint64_t id)
{
    return nb_feature_field(id) == NB_FIELD_VALUE && nb_feature_part(id) < 2 * c->attributes;
}

/* Whether EM sees the feature of a row, which has one, as a word. */
static bool is_word_of(const struct nb_corpus *c, const struct choice *choice, uint32_t row,
                       uint64_t id)
{
    if (is_value(c, id))
        return nb_feature_is_token(id) && !nb_feature_is_number(id);
    return nb_field_is_token(nb_feature_field(id)) && choice_has(choice, row, id);
}

/* Sets the kind of each row and counts the columns. */
static void sort_rows(struct nb_corpus *c, const struct nb_model *counts,
                      const struct choice *choice, unsigned char *kinds, uint32_t rows)
{
    uint32_t others = 0;
    for (uint32_t from = 0; from < rows; from += SLICE_ROWS) {
        nb_model_read_lock(counts);
        uint32_t until = rows - from < SLICE_ROWS ? rows : from + SLICE_ROWS;
        for (uint32_t row = from; row < until && row < nb_model_rows(counts); row++) {
            uint64_t id = nb_model_row_id(counts, row);
            bool is_word = !nb_model_is_dropped(id) && is_word_of(c, choice, row, id);
            bool is_learned = is_word && nb_counts_any(nb_model_row(counts, row));
            bool is_other = (nb_feature_field(id) < NB_FIELDS || is_value(c, id)) && !is_word;
            kinds[row] = is_learned || (is_word && kinds[row] == USED) ? WORD
                         : is_other && kinds[row] == USED              ? OTHER
                                                                       : UNUSED;
            c->words += kinds[row] == WORD;
            others += kinds[row] == OTHER;
        }
        nb_model_unlock(counts);
    }
    c->columns = c->words + others;
}

static int column_room(struct nb_corpus *c, struct nb_error *error)
{
    size_t cells = (size_t)c->words * c->labels;
    if (c->unlabelled.count * c->labels > NB_CORPUS_SHARES_MOST)
        return nb_error_set(error, NB_TOO_LARGE,
                            "%zu documents without a label and %u labels: at most %d together",
                            c->unlabelled.count, c->labels, NB_CORPUS_SHARES_MOST);
    if (cells > NB_CORPUS_CELLS_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "%u words and %u labels: at most %d together",
                            c->words, c->labels, NB_CORPUS_CELLS_MOST);
    if (c->unlabelled.count * c->attributes > NB_CORPUS_NUMBERS_MOST)
        return nb_error_set(error, NB_TOO_LARGE,
                            "%zu documents without a label and %u fields: at most %d together",
                            c->unlabelled.count, c->attributes, NB_CORPUS_NUMBERS_MOST);
    c->rows = calloc((size_t)c->columns + 1, sizeof *c->rows);
    c->ids = calloc((size_t)c->columns + 1, sizeof *c->ids);
    c->learned = calloc((size_t)c->columns + 1, sizeof *c->learned);
    c->word_counts = calloc(cells + 1, sizeof *c->word_counts);
    c->groups = c->attributes > 0 ? calloc((size_t)c->words + 1, sizeof *c->groups) : NULL;
    bool good = c->rows != NULL && c->ids != NULL && c->learned != NULL && c->word_counts != NULL &&
                (c->attributes == 0 || c->groups != NULL);
    return good ? 0 : nb_error_no_memory(error);
}

struct filling {
    struct nb_corpus *corpus;
    const uint32_t *places; /* by label number: place in the corpus, or UINT32_MAX */
    uint32_t place_count;
    uint32_t column;
    bool is_binary;
};

static inline void add_cell(void *user, struct nb_cell cell)
{
    const struct filling *f = user;
    uint32_t place = cell.label < f->place_count ? f->places[cell.label] : UINT32_MAX;
    if (place != UINT32_MAX)
        f->corpus->word_counts[(size_t)f->column * f->corpus->labels + place] =
            f->is_binary ? cell.documents : cell.occurrences;
}

/* Assigns columns to rows (columns[row], UINT32_MAX: none), and reads the counts of words. */
static void fill_columns(struct filling *f, const struct nb_model *counts,
                         const unsigned char *kinds, uint32_t *columns, uint32_t rows)
{
    struct nb_corpus *c = f->corpus;
    uint32_t word = 0;
    uint32_t other = c->words;
    for (uint32_t from = 0; from < rows; from += SLICE_ROWS) {
        nb_model_read_lock(counts);
        uint32_t until = rows - from < SLICE_ROWS ? rows : from + SLICE_ROWS;
        for (uint32_t row = from; row < until && row < nb_model_rows(counts); row++) {
            columns[row] = UINT32_MAX;
            if (kinds[row] != WORD && kinds[row] != OTHER)
                continue;
            f->column = kinds[row] == WORD ? word++ : other++;
            columns[row] = f->column;
            c->rows[f->column] = row;
            c->ids[f->column] = nb_model_row_id(counts, row);
            c->learned[f->column] = nb_counts_any(nb_model_row(counts, row));
            if (kinds[row] == WORD && c->groups != NULL && is_value(c, c->ids[f->column]))
                c->groups[f->column] = 1 + nb_feature_part(c->ids[f->column]) / 2;
            if (kinds[row] == WORD)
                nb_counts_each(counts, nb_model_row(counts, row), add_cell, f);
        }
        nb_model_unlock(counts);
    }
}

/* Replaces the rows of a document by columns, words first. Features whose row no longer exists are
 * removed. */
static void turn_document(const struct nb_corpus *c, struct nb_corpus_part *p, size_t document,
                          const uint32_t *columns)
{
    size_t words = p->begin[document];
    size_t size = words;
    for (size_t i = words; i < p->end[document]; i++) {
        uint32_t column = columns[p->columns[i]];
        uint32_t count = p->counts[i];
        if (column == UINT32_MAX)
            continue;
        p->columns[size] = p->columns[words];
        p->counts[size] = p->counts[words];
        size_t at = column < c->words ? words++ : size;
        p->columns[at] = column;
        p->counts[at] = count;
        size++;
    }
    p->middle[document] = words;
    p->end[document] = size;
}

/* Work space for replacing rows by columns; all arrays are owned. */
struct turning {
    unsigned char *kinds; /* kind of each row */
    uint32_t *columns;    /* column of each row */
    uint32_t *places;     /* place of each label in the corpus */
    uint32_t rows, labels;
};

static void turning_deinit(struct turning *t)
{
    free(t->kinds);
    free(t->columns);
    free(t->places);
}

static int turning_init(struct turning *t, const struct nb_corpus *c, const struct nb_model *counts)
{
    nb_model_read_lock(counts);
    *t = (struct turning){.rows = nb_model_rows(counts), .labels = nb_model_label_count(counts)};
    nb_model_unlock(counts);
    t->kinds = calloc((size_t)t->rows + 1, sizeof *t->kinds);
    t->columns = malloc(((size_t)t->rows + 1) * sizeof *t->columns);
    t->places = malloc(((size_t)t->labels + 1) * sizeof *t->places);
    if (t->kinds == NULL || t->columns == NULL || t->places == NULL)
        return NB_NO_MEMORY;
    memset(t->columns, 0xff, ((size_t)t->rows + 1) * sizeof *t->columns);
    for (uint32_t v = 0; v < t->labels; v++)
        t->places[v] = nb_corpus_place(c, v);
    return 0;
}

int nb_corpus_make_columns(struct nb_corpus *c, const struct nb_model *counts,
                           const struct nb_settings *settings, bool is_binary,
                           struct nb_error *error)
{
    struct turning t;
    struct choice choice = {.filters = false};
    if (turning_init(&t, c, counts) != 0 ||
        choice_make(&choice, settings, counts, t.rows, c->unlabelled.columns, c->unlabelled.counts,
                    c->unlabelled.size) != 0) {
        turning_deinit(&t);
        return nb_error_no_memory(error);
    }
    mark(&c->unlabelled, t.kinds);
    mark(&c->labelled, t.kinds);
    sort_rows(c, counts, &choice, t.kinds, t.rows);
    choice_deinit(&choice);
    int rc = column_room(c, error);
    if (rc == 0) {
        struct filling f = {
            .corpus = c, .places = t.places, .place_count = t.labels, .is_binary = is_binary};
        fill_columns(&f, counts, t.kinds, t.columns, t.rows);
        for (size_t d = 0; d < c->unlabelled.count; d++)
            turn_document(c, &c->unlabelled, d, t.columns);
        for (size_t d = 0; d < c->labelled.count; d++)
            turn_document(c, &c->labelled, d, t.columns);
    }
    turning_deinit(&t);
    return rc;
}
