/* SPDX-License-Identifier: Apache-2.0 */
#include "core/submit/features.h"

#include <assert.h>
#include <stdlib.h>

int nb_submitted_text(struct nb_submitted *change, struct nb_pending *p, struct nb_string text)
{
    p->text_offset = (uint32_t)change->texts.length;
    p->text_length = (uint32_t)text.length;
    return nb_buffer_append(&change->texts, text.bytes, text.length);
}

/* Writes the features of the change: those with rows first, in ascending order, so that the writer
 * can encode them directly, then the others in order of appearance. `unused` says for each feature
 * whether no document has it. An unused feature carries its text although it has a row, because the
 * row may be dropped before the writer applies the change. `order` has room for twice the bag. */
static int order_features(const struct nb_bag *bag, const uint32_t *rows, const bool *unused,
                          struct nb_row_count *order, struct nb_submitted *change)
{
    struct nb_pending *p = change->features;
    size_t known = 0;
    int rc = 0;
    for (size_t i = 0; i < bag->size; i++)
        if (rows[i] != NB_NO_ROW)
            order[known++] = (struct nb_row_count){.row = rows[i], .count = (uint32_t)i};
    nb_row_counts_sort(order, known, order + bag->size);
    for (size_t k = 0; rc == 0 && k < known; k++) {
        const struct nb_feature *f = &bag->features[order[k].count];
        *p = (struct nb_pending){.id = f->id, .count = f->count, .row = order[k].row};
        if (unused[order[k].count])
            rc = nb_submitted_text(change, p, bag->texts[order[k].count]);
        p++;
    }
    for (size_t i = 0; rc == 0 && i < bag->size; i++) {
        if (rows[i] != NB_NO_ROW)
            continue;
        const struct nb_feature *f = &bag->features[i];
        *p = (struct nb_pending){.id = f->id, .count = f->count, .row = NB_NO_ROW};
        rc = nb_submitted_text(change, p++, bag->texts[i]);
    }
    assert(rc != 0 || p == change->features + bag->size);
    return rc;
}

/* Finds the rows of the features. A row that is in use now is still valid when the writer applies
 * the change, because the batch has pinned it. A change in the quarantine keeps the texts of all
 * its features, because the model may drop any of them before the change is applied. */
static void find_rows(const struct nb_model *model, const struct nb_bag *bag, bool quarantined,
                      uint32_t *rows, bool *unused)
{
    if (quarantined) {
        for (size_t i = 0; i < bag->size; i++) {
            rows[i] = NB_NO_ROW;
            unused[i] = true;
        }
        return;
    }
    nb_model_read_lock(model);
    nb_model_find_all(model, bag->features, bag->size, rows);
    nb_model_look_unused(model, rows, bag->size, unused);
    nb_model_unlock(model);
}

int nb_submitted_features(const struct nb_model *model, const struct nb_bag *bag,
                          struct nb_submitted *change)
{
    uint32_t *rows = malloc((bag->size + 1) * sizeof *rows);
    bool *unused = malloc((bag->size + 1) * sizeof *unused);
    struct nb_row_count *order = malloc((bag->size + 1) * 2 * sizeof *order);
    change->features = malloc((bag->size + 1) * sizeof *change->features);
    int rc = NB_NO_MEMORY;
    if (rows != NULL && unused != NULL && order != NULL && change->features != NULL) {
        find_rows(model, bag, change->quarantined, rows, unused);
        rc = order_features(bag, rows, unused, order, change);
    }
    free(rows);
    free(unused);
    free(order);
    change->feature_count = bag->size;
    change->positions = bag->positions;
    change->truncated = bag->truncated;
    return rc;
}
