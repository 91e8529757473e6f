/* SPDX-License-Identifier: Apache-2.0 */
#include "core/generate/label_walk.h"

#include <stdlib.h>

#include "core/live/registry.h"

enum { STEP_ROWS = 16384 };

static int find_label(struct nb_label_walk *walk, struct nb_string label, struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    nb_model_read_lock(counts);
    walk->label = nb_model_find_label(counts, label);
    nb_model_unlock(counts);
    if (walk->label == UINT32_MAX)
        return nb_error_set(error, NB_NOT_FOUND, "model '%s' has no label '%.*s'", walk->live->name,
                            (int)label.length, label.bytes);
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

/* Under the lock. */
static int law_of(const struct nb_label_walk *walk, struct nb_word_law *law, struct nb_error *error)
{
    const struct nb_model *counts = walk->live->counts;
    int rc = nb_word_law_of(walk->published->scorer, counts, walk->label, law);
    if (rc == NB_CONFLICT)
        return nb_error_set(error, rc, "label '%s' of model '%s' has no documents",
                            nb_model_label_name(counts, walk->label).bytes, walk->live->name);
    return rc != 0 ? nb_error_no_memory(error) : 0;
}

int nb_label_walk_law(const struct nb_label_walk *walk, struct nb_word_law *law,
                      struct nb_error *error)
{
    nb_model_read_lock(walk->live->counts);
    int rc = law_of(walk, law, error);
    nb_model_unlock(walk->live->counts);
    return rc;
}

/* Copies the words of a step of rows from *row on, which moves behind them. */
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
