/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/rewind.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/ledger/document_lists.h"
#include "core/model/order.h"
#include "core/model/refit.h"

enum {
    LATER_MOST = 256,    /* documents; of texts that takes 20 ms, */
    CELLS_MOST = 600000, /* features times labels and 1; of mails 100 ms */
};

/* A later document. */
struct later {
    struct nb_rows rows; /* owned */
    uint32_t label;
    double weight;   /* with which it taught */
    uint64_t judged; /* as in its entry */
};

struct nb_rewind {
    struct nb_drawn drawn;
    uint64_t numbers[LATER_MOST + 1];
    struct later later[LATER_MOST]; /* ascending by entry */
    size_t size;                    /* documents that were read, */
    size_t counted;                 /* of which the first are in the counts */
};

struct nb_rewind *nb_rewind_new(void)
{
    return calloc(1, sizeof(struct nb_rewind));
}

static void forget(struct nb_rewind *r)
{
    while (r->size > 0)
        nb_rows_deinit(&r->later[--r->size].rows);
    r->counted = 0;
}

void nb_rewind_free(struct nb_rewind **rewind)
{
    struct nb_rewind *r = *rewind;
    *rewind = NULL;
    if (r == NULL)
        return;
    forget(r);
    nb_drawn_deinit(&r->drawn);
    free(r);
}

/* Reads a later document, which is skipped if its entry cannot be read. Adds to *cells. */
static int read_later(struct nb_rewind *r, const struct nb_live *live, const struct nb_view *view,
                      uint64_t number, uint64_t *cells)
{
    struct later *later = &r->later[r->size];
    const struct nb_change *change = &r->drawn.entry.change;
    struct nb_rows rows = {0};
    int rc = nb_drawn_entry(&r->drawn, live, view, number);
    if (rc == 0)
        rc = nb_bag_decode(change->bag, nb_model_rows(live->counts), &rows, NULL);
    if (rc != 0) {
        nb_rows_deinit(&rows);
        return nb_drawn_unless_missing(rc);
    }
    *later = (struct later){rows, change->label, nb_stored_score_weight(change->score, 0),
                            change->judged};
    *cells += rows.size * (nb_model_labels_with_documents(live->counts) + UINT64_C(1));
    r->size++;
    r->counted = r->size;
    return 0;
}

static void count(struct nb_live *live, const struct nb_rows *rows, uint32_t label, bool adds)
{
    size_t fresh;
    struct nb_model_change change = {.add_label = adds ? label : UINT32_MAX,
                                     .add = rows->counts,
                                     .add_size = adds ? rows->size : 0,
                                     .take_label = adds ? UINT32_MAX : label,
                                     .take = rows->counts,
                                     .take_size = adds ? 0 : rows->size};
    /* What was taken out of the counts has room in them. */
    int rc = nb_model_change(live->counts, &change, &fresh);
    assert(rc == 0);
    (void)rc;
}

/* Computes the inputs of a later document, which is counted or not. Returns whether it teaches. */
static int inputs_of(struct nb_rewind *r, const struct nb_live *live, const struct later *later,
                     bool is_counted, bool *teaches)
{
    const struct nb_published *p = live->published;
    int rc = 0;
    *teaches = nb_order_teaches(nb_model_documents(live->counts, later->label) - is_counted);
    if (*teaches) {
        nb_stack_inputs_twin(&r->drawn.inputs, p->weights, true);
        rc = nb_stack_inputs_of_rows(p->stack, live->counts, later->rows.counts, later->rows.size,
                                     is_counted ? later->label : NB_STACK_NO_LABEL,
                                     &r->drawn.inputs);
    }
    *teaches = *teaches && rc == 0;
    return rc == NB_CONFLICT ? 0 : rc;
}

static int unlearn(struct nb_rewind *r, struct nb_live *live, const struct later *later)
{
    bool teaches;
    int rc = inputs_of(r, live, later, true, &teaches);
    if (rc == 0 && teaches)
        rc = nb_stack_unlearn(live->published->weights, &r->drawn.inputs, later->label,
                              later->weight);
    return rc != 0 ? rc : nb_live_judged_unlearn(live, later->label, later->judged, 0);
}

static int learn(struct nb_rewind *r, struct nb_live *live, const struct later *later)
{
    bool teaches;
    int rc = inputs_of(r, live, later, false, &teaches);
    if (rc == 0 && teaches)
        rc = nb_drawn_teach(live, live->published->weights, &r->drawn.inputs, &later->rows,
                            later->label, later->weight);
    return rc != 0 ? rc : nb_live_judged_learn(live, later->label, later->judged);
}

int nb_rewind_begin(struct nb_rewind *r, struct nb_live *live, const struct nb_view *view,
                    uint64_t after, uint64_t before, bool *is_done)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    uint64_t cells = 0;
    forget(r);
    *is_done = false;
    if (after == 0 || live->fit != NULL)
        return 0;
    int rc = nb_refit_list(live, view);
    size_t later = rc != 0 ? 0
                           : nb_current_entries_between(live->current, after, before, r->numbers,
                                                        LATER_MOST + (size_t)1);
    *is_done = later == 0;
    if (later > LATER_MOST || !nb_order_may_rewind(order, later))
        later = 0;
    for (size_t i = 0; rc == 0 && i < later && cells <= CELLS_MOST; i++)
        rc = read_later(r, live, view, r->numbers[i], &cells);
    if (rc == 0 && r->size > 0 && cells <= CELLS_MOST) {
        rc = nb_order_note_rewind(order, r->size);
        *is_done = true;
    } else {
        forget(r);
    }
    while (rc == 0 && r->counted > 0) {
        const struct later *newest = &r->later[r->counted - 1];
        rc = unlearn(r, live, newest);
        if (rc == 0) {
            count(live, &newest->rows, newest->label, false);
            r->counted--;
        }
    }
    if (rc != 0)
        nb_rewind_cancel(r, live);
    return rc;
}

/* Counts the next later document. */
static void count_next(struct nb_rewind *r, struct nb_live *live)
{
    const struct later *next = &r->later[r->counted++];
    count(live, &next->rows, next->label, true);
}

int nb_rewind_end(struct nb_rewind *r, struct nb_live *live, const struct nb_rows *rows,
                  uint32_t label)
{
    bool is_counted = rows != NULL && r->size > 0;
    int rc = 0;
    if (is_counted)
        count(live, rows, label, false);
    while (rc == 0 && r->counted < r->size) {
        rc = learn(r, live, &r->later[r->counted]);
        count_next(r, live);
    }
    nb_rewind_cancel(r, live);
    if (is_counted)
        count(live, rows, label, true);
    return rc;
}

void nb_rewind_cancel(struct nb_rewind *r, struct nb_live *live)
{
    while (r->counted < r->size)
        count_next(r, live);
    forget(r);
}
