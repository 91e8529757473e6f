/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/score/stack_two_bag.h"

#include <assert.h>
#include <string.h>

#include "core/stack/score/stack_attributes.h"
#include "core/stack/score/stack_notes.h"
#include "core/stack/score/stack_pairs.h"

void nb_stack_two_note_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                           size_t size, const struct nb_found *known)
{
    struct nb_stack_notes notes = nb_stack_notes_of(p);
    uint32_t found[NB_MODEL_STEP];
    const uint32_t *rows = NULL;
    for (size_t i = 0; i < size; i++) {
        unsigned field = nb_feature_field(features[i].id);
        if (i % NB_MODEL_STEP == 0)
            rows = nb_model_step(p->model, features, i,
                                 size - i < NB_MODEL_STEP ? size - i : NB_MODEL_STEP,
                                 known == NULL ? NULL : known->rows, found);
        uint32_t row = rows[i % NB_MODEL_STEP];
        if (field >= NB_FIELDS) {
            nb_stack_attributes_note(p->inputs, features[i].id, row, false);
            continue;
        }
        p->inputs->features[field]++;
        if (row == NB_NO_ROW)
            continue;
        p->inputs->said[notes.next - p->inputs->noted].place = i;
        (void)nb_stack_note(&notes, features[i].id, row);
    }
    nb_stack_keep_notes(p, &notes);
}

#ifdef __SSE2__
/* Where a bag is read: what a loop over a step of it needs and changes. */
struct reading {
    struct nb_stack_pairs pairs;
    struct nb_stack_said *said; /* the next one */
    uint32_t features[NB_FIELDS];
    unsigned
        turn; /* by so many bits documents of a pair are turned: the first label's come first */
};

/* Documents of both labels, of a row that some label has. `turn` turns those of a pair. */
static inline __attribute__((always_inline)) void put_documents(const struct nb_stack_pass *p,
                                                                struct nb_row row, unsigned turn,
                                                                uint32_t *first, uint32_t *second)
{
    uint32_t both = (uint32_t)row.cells;
    both = both << turn | both >> (-turn & 31);
    *first = both & NB_PAIR_D_MOST;
    *second = both >> NB_PAIR_D;
    if (__builtin_expect(nb_row_is_pair(row), 1))
        return;
    struct nb_two_documents d = nb_counts_of_two_else(p->model, row, p->view->labels[0]);
    *first = d.own;
    *second = (uint32_t)(d.all - d.own);
}

/* `says` is a constant where this is called: what each feature says is kept. Of a mail that is as
 * much memory as the first-level cache has. */
static inline __attribute__((always_inline)) void
read_step(const struct nb_stack_pass *p, struct reading *reading, const struct nb_feature *features,
          size_t start, size_t step, size_t size, const struct nb_found *found, bool says)
{
    const unsigned turn = reading->turn;
    struct nb_stack_said *said = reading->said;
    for (size_t i = 0; i < step; i++) {
        uint64_t id = features[start + i].id;
        struct nb_row row = {id, found->cells[i]};
        unsigned field = nb_feature_field(id);
        if (start + i + NB_MODEL_AHEAD < size)
            nb_slots_values_prefetch(&reading->pairs.twin.slots,
                                     (uint32_t)features[start + i + NB_MODEL_AHEAD].id);
        if (field >= NB_FIELDS) {
            nb_stack_attributes_note(p->inputs, id, found->rows[i], false);
            continue;
        }
        reading->features[field]++;
        if (!nb_row_is_used(row))
            continue;
        uint32_t first, second;
        __m128d e;
        put_documents(p, row, turn, &first, &second);
        __m128d r = nb_stack_add_pair(&reading->pairs, first, second, field, (uint32_t)id, &e);
        if (!says)
            continue;
        said->place = start + i;
        nb_stack_say(said++, e, r);
    }
    reading->said = said;
}

void nb_stack_two_sum_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                          size_t size, const struct nb_found *known)
{
    struct nb_step own;
    struct reading reading = {.pairs = nb_stack_begin_pairs(p),
                              .said = p->inputs->said,
                              .turn = p->view->labels[0] * NB_PAIR_D};
    assert(p->view->labels[0] < 2);
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        struct nb_found found = nb_model_step_cells(p->model, features, start, step, known, &own);
        if (p->inputs->is_brief)
            read_step(p, &reading, features, start, step, size, &found, false);
        else
            read_step(p, &reading, features, start, step, size, &found, true);
    }
    memcpy(p->inputs->features, reading.features, sizeof reading.features);
    p->inputs->said_count = reading.said == NULL ? 0 : (size_t)(reading.said - p->inputs->said);
    nb_stack_end_pairs(p, &reading.pairs);
}
#endif
