/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/corpus_columns.h"

#include <stdlib.h>
#include <string.h>

#include "core/bayes/settings/settings.h"
#include "core/counts/counts.h"
#include "core/em/choice.h"
#include "core/em/corpus.h"

enum { SLICE_ROWS = 4096 };

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
        t->places[v] = nb_corpus_place(c, v);
    return 0;
}

int nb_corpus_make_columns(struct nb_corpus *c, const struct nb_model *counts,
                           const struct nb_settings *settings, bool is_binary,
                           struct nb_error *error)
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
