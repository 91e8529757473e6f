/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/label_walk.h"

#include <stdlib.h>

#include "core/model/live.h"
#include "core/model/registry.h"

enum { STEP_ROWS = 16384 };

static int find_label(struct nb_label_walk *walk, struct nb_string label, struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    nb_model_read_lock(counts);
    int rc = nb_live_label(walk->live, label, &walk->label, error);
    nb_model_unlock(counts);
    if (rc != 0)
        return rc;
    walk->words = malloc(STEP_ROWS * sizeof *walk->words);
    return walk->words == NULL ? nb_error_no_memory(error) : 0;
}

int nb_label_walk_begin(struct nb_label_walk *walk, struct nb_engine *engine,
                        struct nb_string model, struct nb_string label, struct nb_error *error)
{
    *walk = (struct nb_label_walk){.engine = engine};
    int rc = nb_registry_acquire(engine, model, false, &walk->live, error);
    if (rc != 0)
        return rc;
    walk->published = nb_live_settings(walk->live);
    rc = find_label(walk, label, error);
    if (rc != 0)
        nb_label_walk_end(walk);
    return rc;
}

void nb_label_walk_end(struct nb_label_walk *walk)
{
    free(walk->words);
    nb_published_release(&walk->published);
    nb_registry_release(walk->engine, &walk->live);
}

/* Translates a code of core/stack. */
static int told(const struct nb_label_walk *walk, int rc, struct nb_error *error)
{
    if (rc == NB_CONFLICT)
        return nb_error_set(error, rc, "label '%s' of model '%s' has no documents",
                            nb_model_label_name(walk->live->counts, walk->label).bytes,
                            walk->live->name);
    return rc != 0 ? nb_error_no_memory(error) : 0;
}

/* Under the lock. */
static int law_of(const struct nb_label_walk *walk, struct nb_word_law *law, struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    return told(walk, nb_word_law_of(walk->published->scorer, counts, walk->label, law), error);
}

int nb_label_walk_law(const struct nb_label_walk *walk, struct nb_word_law *law,
                      struct nb_error *error)
{
    nb_model_read_lock(walk->live->counts);
    int rc = law_of(walk, law, error);
    nb_model_unlock(walk->live->counts);
    return rc;
}

/* Copies the words of a step of rows from *row on; moves *row behind them. */
static int copy_step(struct nb_label_walk *walk, uint32_t *row, bool *is_last,
                     struct nb_word_law *law, size_t *count, struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    nb_model_read_lock(counts);
    uint32_t rows = nb_model_rows(counts), left = rows > *row ? rows - *row : 0;
    uint32_t end = *row + (left < STEP_ROWS ? left : STEP_ROWS);
    int rc = law_of(walk, law, error);
    *count = 0;
    for (; rc == 0 && *row < end; ++*row) {
        struct nb_walked_word *word = &walk->words[*count];
        if (!nb_word_law_count(walk->published->scorer, counts, *row, walk->label, law,
                               &word->count, &word->addend))
            continue;
        word->row = *row;
        word->feature = nb_model_row_id(counts, *row);
        ++*count;
    }
    *is_last = end >= rows;
    nb_model_unlock(counts);
    return rc;
}

int nb_label_walk_all(struct nb_label_walk *walk, nb_label_walk_visit *visit, void *user,
                      struct nb_error *error)
{
    uint32_t row = 0;
    bool is_last = false;
    int rc = 0;
    while (rc == 0 && !is_last) {
        struct nb_word_law law;
        size_t count;
        rc = copy_step(walk, &row, &is_last, &law, &count, error);
        for (size_t i = 0; rc == 0 && i < count; i++)
            visit(user, &law, &walk->words[i]);
    }
    return rc;
}

/* ---- values ---------------------------------------------------------------------------------- */

int nb_label_walk_attribute(const struct nb_label_walk *walk, size_t attribute,
                            struct nb_attribute_law *law, uint64_t *documents,
                            struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    const struct nb_attribute_scores *scores;
    uint32_t place;
    nb_model_read_lock(counts);
    int rc = nb_label_attributes(walk->published->scorer, counts, walk->label, &scores, &place);
    if (rc == 0)
        *law = nb_attribute_law_of(scores, &walk->published->settings, counts, attribute, place);
    *documents = nb_model_documents(counts, walk->label);
    rc = told(walk, rc, error);
    nb_model_unlock(counts);
    return rc;
}

int nb_label_walk_look(const struct nb_label_walk *walk, nb_label_walk_looker *look, void *user,
                       struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    const struct nb_attribute_scores *scores;
    uint32_t place;
    nb_model_read_lock(counts);
    int rc = nb_label_attributes(walk->published->scorer, counts, walk->label, &scores, &place);
    if (rc == 0)
        look(user, scores, place);
    rc = told(walk, rc, error);
    nb_model_unlock(counts);
    return rc;
}

/* Visits a step of rows from *row on; moves *row behind them. */
static int visit_step(const struct nb_label_walk *walk, uint32_t *row, bool *is_last,
                      nb_label_walk_visit_row *visit, void *user, struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    const struct nb_attribute_scores *scores;
    uint32_t place;
    nb_model_read_lock(counts);
    uint32_t rows = nb_model_rows(counts), left = rows > *row ? rows - *row : 0;
    uint32_t end = *row + (left < STEP_ROWS ? left : STEP_ROWS);
    int rc = nb_label_attributes(walk->published->scorer, counts, walk->label, &scores, &place);
    for (; rc == 0 && *row < end; ++*row)
        visit(user, scores, *row, place);
    *is_last = end >= rows;
    rc = told(walk, rc, error);
    nb_model_unlock(counts);
    return rc;
}

int nb_label_walk_rows(const struct nb_label_walk *walk, nb_label_walk_visit_row *visit, void *user,
                       struct nb_error *error)
{
    uint32_t row = 0;
    bool is_last = false;
    int rc = 0;
    while (rc == 0 && !is_last)
        rc = visit_step(walk, &row, &is_last, visit, user, error);
    return rc;
}

struct values_walk {
    const struct nb_label_walk *walk;
    nb_label_walk_visit_value *visit;
    void *user;
};

static void visit_value(void *user, const struct nb_attribute_scores *scores, uint32_t row,
                        uint32_t place)
{
    const struct values_walk *w = user;
    const struct nb_model *counts = w->walk->live->counts;
    struct nb_walked_value value = {.row = row, .feature = nb_model_row_id(counts, row)};
    if (nb_value_law_of(scores, &w->walk->published->settings, counts, nb_model_row(counts, row),
                        place, &value.law))
        w->visit(w->user, &value);
}

int nb_label_walk_values(const struct nb_label_walk *walk, nb_label_walk_visit_value *visit,
                         void *user, struct nb_error *error)
{
    struct values_walk w = {walk, visit, user};
    return nb_label_walk_rows(walk, visit_value, &w, error);
}
