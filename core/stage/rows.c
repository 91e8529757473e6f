/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stage/staging.h"

#include <stdlib.h>

#include "core/base/array.h"

/* The rows of all features, in memory->rows, NB_NO_ROW for those that have none: the hint if it is
 * still right, else looked up. A hint is wrong after a commit failed and its rows were taken back.
 */
static int look_up(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    size_t size = s->change->feature_count;
    if (nb_array_reserve(&m->known, &m->known_room, size, sizeof *m->known) != 0 ||
        nb_array_reserve(&m->rows, &m->rows_room, size, sizeof *m->rows) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < size; i++) {
        const struct nb_pending *p = &s->change->features[i];
        m->known[i] = (struct nb_feature){.id = p->id, .count = p->count};
        m->rows[i] = p->row;
    }
    nb_model_find_again(s->live->counts, m->known, size, m->rows);
    return 0;
}

static int new_row(struct nb_stage *s, const struct nb_pending *p, uint32_t *row)
{
    struct nb_staging *m = s->memory;
    int rc = nb_array_reserve(&m->fresh, &m->new_room, m->new_count + 1, sizeof *m->fresh);
    if (rc == 0)
        rc = nb_model_add_row(s->live->counts, p->id, row);
    if (rc != 0)
        return rc;
    m->fresh[m->new_count++] =
        (struct nb_fresh){.row = *row,
                          .id = p->id,
                          .text = {s->change->texts.bytes + p->text_offset, p->text_length}};
    return 0;
}

/* The row of the feature with the index `i`, made if it has none. */
static int row_of(struct nb_stage *s, size_t i, uint32_t *row)
{
    const struct nb_pending *p = &s->change->features[i];
    *row = s->memory->rows[i];
    if (*row != NB_NO_ROW)
        return 0;
    if (p->row != NB_NO_ROW && p->text_length == 0)
        return nb_stage_refuse(s, NB_IO, "a commit failed meanwhile: send the document again");
    int rc = new_row(s, p, row);
    return rc == NB_TOO_LARGE
               ? nb_stage_refuse(s, rc, "the model has 4 billion features and takes no new ones")
               : rc;
}

int nb_stage_find_rows(struct nb_stage *s)
{
    struct nb_submitted *change = s->change;
    struct nb_rows *rows = &change->delta.add;
    uint32_t row;
    int rc = look_up(s);
    if (rc == 0)
        rc = nb_array_reserve(&rows->counts, &rows->room, change->feature_count,
                              sizeof *rows->counts);
    for (size_t i = 0; rc == 0 && i < change->feature_count; i++) {
        rc = row_of(s, i, &row);
        if (rc != 0 || s->refused)
            return rc;
        rows->counts[rows->size++] =
            (struct nb_row_count){.row = row, .count = change->features[i].count};
    }
    if (rc != 0)
        return rc;
    nb_rows_sort(rows);
    return nb_bag_encode(rows, &s->memory->bag);
}

/* Whether the texts of features are stored. A dump has the ids of features under the key that
 * makes ids of documents. If features have another key here, their ids for a dump are made from
 * their texts. */
static bool keeps_texts(const struct nb_stage *s)
{
    return s->group->engine->settings.keep_words || s->live->key != s->live->id_key;
}

static int by_fresh_row(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_fresh *)a)->row;
    uint32_t y = ((const struct nb_fresh *)b)->row;
    return (x > y) - (x < y);
}

/* Rows that were dropped are named one by one; rows that are appended follow from the first. */
static int encode_rows(struct nb_staging *m)
{
    struct nb_rows rows = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->new_count; i++)
        rc = nb_rows_add(&rows, m->fresh[i].row, 1);
    if (rc == 0)
        rc = nb_bag_encode(&rows, &m->new_rows);
    nb_rows_deinit(&rows);
    return rc;
}

int nb_stage_encode_features(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    int rc = 0;
    if (m->new_count == 0)
        return 0;
    if (nb_array_reserve(&m->ids, &m->ids_room, m->new_count, sizeof *m->ids) != 0 ||
        nb_array_reserve(&m->texts, &m->texts_room, m->new_count, sizeof *m->texts) != 0)
        return NB_NO_MEMORY;
    if (m->fresh[0].row < s->rows_before) { /* dropped rows are taken first */
        qsort(m->fresh, m->new_count, sizeof *m->fresh, by_fresh_row);
        rc = encode_rows(m);
    }
    for (size_t i = 0; i < m->new_count; i++) {
        m->ids[i] = m->fresh[i].id;
        m->texts[i] = m->fresh[i].text;
    }
    return rc != 0
               ? rc
               : nb_features_encode(s->group->engine->coder, m->ids,
                                    keeps_texts(s) ? m->texts : NULL, m->new_count, &m->features);
}
