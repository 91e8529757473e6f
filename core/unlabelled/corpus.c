/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unlabelled/corpus.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/array.h"
#include "core/base/heap.h"
#include "core/coding/bag.h"
#include "core/coding/rows.h"
#include "core/live/state.h"
#include "core/model/counts.h"
#include "core/store/ledger.h"
#include "core/unlabelled/choice.h"

enum { SLICE_DOCUMENTS = 500, SLICE_ROWS = 4096, ENDED = 1 };

static void part_deinit(struct nb_corpus_part *p)
{
    free(p->orders);
    free(p->begin);
    free(p->middle);
    free(p->end);
    free(p->labels);
    free(p->columns);
    free(p->counts);
}

void nb_corpus_deinit(struct nb_corpus *c)
{
    part_deinit(&c->unlabelled);
    part_deinit(&c->labelled);
    free(c->rows);
    free(c->ids);
    free(c->learned);
    free(c->groups);
    free(c->part_vocabulary);
    free(c->numbers);
    free(c->documents);
    free(c->word_counts);
    nb_viewed_deinit(&c->viewed);
    *c = (struct nb_corpus){.words = 0};
}

/* ---- documents ------------------------------------------------------------------------------- */

struct reading {
    struct nb_corpus *corpus;
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_view view;
    struct nb_rows bag;
    struct nb_entry entry;
    uint64_t from;
    unsigned seen;       /* documents visited in this snapshot */
    struct nb_heap heap; /* the sample: the smallest hashes so far */
    bool (*stop)(void *user);
    void *user;
};

static int check_stop(const struct reading *r, struct nb_error *error)
{
    return r->stop != NULL && r->stop(r->user)
               ? nb_error_set(error, NB_STOPPING, "the fit was broken off")
               : 0;
}

/* The hash needs no key: it only chooses a sample, and no secret depends on it. */
static uint64_t order_of(const struct nb_entry *entry)
{
    return XXH3_64bits(entry->change.id.bytes, entry->change.id.length);
}

static int make_room(struct nb_corpus_part *p, size_t size)
{
    bool good =
        nb_array_reserve(&p->orders, &p->room, p->count + 1, sizeof *p->orders) == 0 &&
        nb_array_reserve(&p->begin, &p->begin_room, p->count + 1, sizeof *p->begin) == 0 &&
        nb_array_reserve(&p->middle, &p->middle_room, p->count + 1, sizeof *p->middle) == 0 &&
        nb_array_reserve(&p->end, &p->end_room, p->count + 1, sizeof *p->end) == 0 &&
        nb_array_reserve(&p->labels, &p->label_room, p->count + 1, sizeof *p->labels) == 0 &&
        nb_array_reserve(&p->columns, &p->column_room, p->size + size + 1, sizeof *p->columns) ==
            0 &&
        nb_array_reserve(&p->counts, &p->count_room, p->size + size + 1, sizeof *p->counts) == 0;
    return good ? 0 : NB_NO_MEMORY;
}

/* Index of a label in c->numbers; UINT32_MAX: it had no documents. */
static uint32_t place_of(const struct nb_corpus *c, uint32_t label)
{
    for (uint32_t v = 0; v < c->labels; v++)
        if (c->numbers[v] == label)
            return v;
    return UINT32_MAX;
}

static int add_document(struct reading *r, struct nb_corpus_part *p, const struct nb_entry *entry,
                        struct nb_error *error)
{
    nb_model_read_lock(r->live->counts);
    uint32_t rows = nb_model_rows(r->live->counts);
    nb_model_unlock(r->live->counts);
    int rc = nb_bag_decode(entry->change.bag, rows, &r->bag, error);
    if (rc != 0)
        return rc;
    if (p->size + r->bag.size > NB_CORPUS_USES_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "the documents have more than %d features",
                            NB_CORPUS_USES_MOST);
    if (make_room(p, r->bag.size) != 0)
        return nb_error_no_memory(error);
    p->orders[p->count] = order_of(entry);
    p->begin[p->count] = p->size;
    for (size_t i = 0; i < r->bag.size; i++) {
        p->columns[p->size] = r->bag.counts[i].row;
        p->counts[p->size++] = r->bag.counts[i].count;
    }
    p->labels[p->count] = place_of(r->corpus, entry->change.label);
    p->end[p->count++] = p->size;
    return 0;
}

/* Whether an entry is still read in this snapshot; if not, the next snapshot begins with it. */
static bool is_next(struct reading *r, const struct nb_entry *entry)
{
    r->from = entry->number;
    if (r->seen++ >= SLICE_DOCUMENTS || nb_store_wanted(&r->view))
        return false;
    r->from++;
    return true;
}

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_corpus_part *p = &r->corpus->unlabelled;
    if (!is_next(r, entry))
        return ENDED;
    if (p->count == NB_CORPUS_DOCUMENTS_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "there are more than %d documents without a label",
                            NB_CORPUS_DOCUMENTS_MOST);
    return add_document(r, p, entry, error);
}

/* Visits the model's documents with a label, or those without, a few hundred in a snapshot. */
static int walk(struct reading *r, enum nb_ledger_only only, nb_ledger_visit *visit,
                struct nb_error *error)
{
    int rc = ENDED;
    r->from = 0;
    while (rc == ENDED) {
        rc = check_stop(r, error);
        if (rc == 0)
            rc = nb_store_snapshot(r->engine->store, &r->view, error);
        if (rc != 0)
            return rc;
        r->seen = 0;
        rc = nb_ledger_walk_only(&r->view, r->live->number, r->from, only, visit, r, error);
        nb_store_snapshot_end(&r->view);
    }
    return rc;
}

/* Adds one document of the sample, if it still exists and has a label of the corpus. */
static int read_labelled(struct reading *r, uint64_t number, struct nb_error *error)
{
    bool is_living;
    int rc = nb_ledger_read(&r->view, number, &r->entry, error);
    if (rc == 0)
        rc = nb_ledger_is_living(&r->view, &r->entry, &is_living, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    if (!is_living || r->entry.change.kind != NB_CHANGE_TRAIN ||
        place_of(r->corpus, r->entry.change.label) == UINT32_MAX)
        return 0;
    return add_document(r, &r->corpus->labelled, &r->entry, error);
}

struct drawn {
    uint64_t order, number;
};

static int read_sample(struct reading *r, const struct drawn *drawn, size_t count,
                       struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count;) {
        rc = check_stop(r, error);
        if (rc == 0)
            rc = nb_store_snapshot(r->engine->store, &r->view, error);
        if (rc != 0)
            return rc;
        for (unsigned k = 0; rc == 0 && k < SLICE_DOCUMENTS && i < count; k++, i++)
            rc = read_labelled(r, drawn[i].number, error);
        nb_store_snapshot_end(&r->view);
    }
    return rc;
}

static int compare_drawn(const void *a, const void *b)
{
    const struct drawn *one = a, *other = b;
    if (one->order != other->order)
        return one->order < other->order ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

static int draw(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    const struct drawn drawn = {order_of(entry), entry->number};
    (void)error;
    if (!is_next(r, entry))
        return ENDED;
    nb_heap_add(&r->heap, &drawn);
    return 0;
}

static int draw_sample(struct reading *r, size_t sample, struct nb_error *error)
{
    struct drawn *drawn = calloc(sample + 1, sizeof *drawn);
    if (drawn == NULL)
        return nb_error_no_memory(error);
    r->heap = (struct nb_heap){
        .items = drawn, .most = sample, .item_size = sizeof *drawn, .compare = compare_drawn};
    int rc = walk(r, NB_LEDGER_LABELLED, draw, error);
    nb_heap_sort(&r->heap);
    if (rc == 0)
        rc = read_sample(r, drawn, r->heap.count, error);
    free(drawn);
    return rc;
}

/* ---- their order ----------------------------------------------------------------------------- */

struct placed {
    uint64_t order;
    size_t begin, end;
    uint32_t label;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    if (one->order != other->order)
        return one->order < other->order ? -1 : 1;
    return one->begin < other->begin ? -1 : one->begin > other->begin;
}

/* Sorts the documents by the hash of their id. Their features are not moved. */
static int sort_documents(struct nb_corpus_part *p)
{
    struct placed *placed = calloc(p->count + 1, sizeof *placed);
    if (placed == NULL)
        return NB_NO_MEMORY;
    for (size_t d = 0; d < p->count; d++)
        placed[d] = (struct placed){p->orders[d], p->begin[d], p->end[d], p->labels[d]};
    qsort(placed, p->count, sizeof *placed, compare_placed);
    for (size_t d = 0; d < p->count; d++) {
        p->orders[d] = placed[d].order;
        p->begin[d] = placed[d].begin;
        p->end[d] = placed[d].end;
        p->labels[d] = placed[d].label;
    }
    free(placed);
    return 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

static int list_own_labels(struct nb_corpus *c, const struct nb_model *counts)
{
    uint32_t all = nb_model_label_count(counts);
    c->numbers = calloc((size_t)all + 1, sizeof *c->numbers);
    c->documents = calloc((size_t)all + 1, sizeof *c->documents);
    bool good = c->numbers != NULL && c->documents != NULL;
    for (uint32_t v = 0; good && v < all; v++) {
        if (nb_model_documents(counts, v) == 0)
            continue;
        c->numbers[c->labels] = v;
        c->documents[c->labels++] = (double)nb_model_documents(counts, v);
    }
    return good ? 0 : NB_NO_MEMORY;
}

/* The labels of the model and its parents. */
static int list_all_labels(struct nb_corpus *c, struct nb_family *family)
{
    int rc = nb_viewed_read(&c->viewed, family);
    c->labels = c->viewed.count;
    c->numbers = calloc((size_t)c->labels + 1, sizeof *c->numbers);
    c->documents = calloc((size_t)c->labels + 1, sizeof *c->documents);
    if (rc != 0 || c->numbers == NULL || c->documents == NULL)
        return NB_NO_MEMORY;
    if (c->labels > 0) {
        memcpy(c->numbers, c->viewed.numbers, c->labels * sizeof *c->numbers);
        memcpy(c->documents, c->viewed.documents, c->labels * sizeof *c->documents);
    }
    return 0;
}

/* Under the model's read lock. */
static int list_parts(struct nb_corpus *c, const struct nb_model *counts,
                      const struct nb_settings *settings)
{
    unsigned parts = 2 * (unsigned)settings->attribute_count;
    c->attributes = (unsigned)settings->attribute_count;
    if (parts == 0)
        return 0;
    c->part_vocabulary = calloc(parts, sizeof *c->part_vocabulary);
    for (unsigned part = 0; c->part_vocabulary != NULL && part < parts; part++)
        c->part_vocabulary[part] = nb_model_vocabulary(counts, NB_FIRST_PART + part);
    return c->part_vocabulary != NULL ? 0 : NB_NO_MEMORY;
}

static int list_labels(struct nb_corpus *c, struct nb_family *family)
{
    const struct nb_model *counts = family->live[0]->counts;
    int rc = family->count > 1 ? list_all_labels(c, family) : 0;
    nb_model_read_lock(counts);
    if (rc == 0)
        rc = list_parts(c, counts, &family->published[0]->settings);
    if (rc == 0 && family->count == 1)
        rc = list_own_labels(c, counts);
    for (unsigned field = 0; field <= NB_FIELDS; field++)
        c->vocabulary[field] = nb_model_vocabulary(counts, field);
    nb_model_unlock(counts);
    return rc;
}

enum { UNUSED, USED, WORD, OTHER }; /* what a row is */

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
static bool is_word_of(const struct nb_corpus *c, const struct nb_choice *choice, uint32_t row,
                       uint64_t id)
{
    if (is_value(c, id))
        return nb_feature_is_token(id) && !nb_feature_is_number(id);
    return nb_field_is_token(nb_feature_field(id)) && nb_choice_has(choice, row, id);
}

/* Sets the kind of each row, and counts the columns. */
static void sort_rows(struct nb_corpus *c, const struct nb_model *counts,
                      const struct nb_choice *choice, unsigned char *kinds, uint32_t rows)
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
    const uint32_t *places; /* of label numbers in the corpus, or UINT32_MAX */
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
    unsigned char *kinds; /* of each row */
    uint32_t *columns;    /* of each row */
    uint32_t *places;     /* of each label */
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
        t->places[v] = place_of(c, v);
    return 0;
}

static int make_columns(struct nb_corpus *c, const struct nb_model *counts,
                        const struct nb_settings *settings, bool is_binary, struct nb_error *error)
{
    struct turning t;
    struct nb_choice choice = {.filters = false};
    if (turning_init(&t, c, counts) != 0 ||
        nb_choice_make(&choice, settings, counts, t.rows, c->unlabelled.columns,
                       c->unlabelled.counts, c->unlabelled.size) != 0) {
        turning_deinit(&t);
        return nb_error_no_memory(error);
    }
    mark(&c->unlabelled, t.kinds);
    mark(&c->labelled, t.kinds);
    sort_rows(c, counts, &choice, t.kinds, t.rows);
    nb_choice_deinit(&choice);
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

int nb_corpus_read(struct nb_engine *engine, struct nb_family *family, bool is_binary,
                   size_t sample, bool (*stop)(void *user), void *user, struct nb_corpus *corpus,
                   struct nb_error *error)
{
    struct nb_live *live = family->live[0];
    const struct nb_settings *settings = &family->published[0]->settings;
    struct reading r = {
        .corpus = corpus, .engine = engine, .live = live, .stop = stop, .user = user};
    *corpus = (struct nb_corpus){.words = 0};
    int rc = list_labels(corpus, family) == 0 ? 0 : nb_error_no_memory(error);
    if (rc == 0)
        rc = walk(&r, NB_LEDGER_UNLABELLED, take, error);
    if (rc == 0 && sort_documents(&corpus->unlabelled) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = draw_sample(&r, sample, error);
    if (rc == 0)
        rc = make_columns(corpus, live->counts, settings, is_binary, error);
    if (rc == 0 && corpus->viewed.count > 0 &&
        nb_viewed_counts(&corpus->viewed, family, is_binary, corpus->ids, corpus->words,
                         corpus->word_counts) != 0)
        rc = nb_error_no_memory(error);
    nb_rows_deinit(&r.bag);
    nb_entry_deinit(&r.entry);
    return rc;
}
