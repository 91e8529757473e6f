/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learn/drawn.h"

#include "core/model/learn/order.h"

void nb_drawn_deinit(struct nb_drawn *drawn)
{
    nb_entry_deinit(&drawn->entry);
    nb_rows_deinit(&drawn->rows);
    nb_stack_inputs_deinit(&drawn->inputs);
}

int nb_drawn_entry(struct nb_drawn *drawn, const struct nb_live *live, const struct nb_view *view,
                   uint64_t number)
{
    const struct nb_change *change = &drawn->entry.change;
    int rc = nb_ledger_read(view, number, &drawn->entry, NULL);
    if (rc == 0 && (change->kind != NB_CHANGE_TRAIN || change->model != live->number ||
                    change->label >= nb_model_label_count(live->counts)))
        rc = NB_NOT_FOUND;
    return rc;
}

/* The features of the entry. */
static int read_features(struct nb_drawn *drawn, const struct nb_live *live)
{
    return nb_bag_decode(drawn->entry.change.bag, nb_model_rows(live->counts), &drawn->rows, NULL);
}

static int put_inputs(struct nb_drawn *drawn, const struct nb_live *live,
                      const struct nb_published *published, const struct nb_stack_weights *twin,
                      bool keeps)
{
    nb_stack_inputs_twin(&drawn->inputs, twin, keeps);
    return nb_stack_inputs_of_rows(published->stack, live->counts, drawn->rows.counts,
                                   drawn->rows.size, drawn->entry.change.label, &drawn->inputs);
}

int nb_drawn_unless_missing(int code)
{
    return code == NB_NOT_FOUND || code == NB_CORRUPT || code == NB_CONFLICT ? 0 : code;
}

int nb_drawn_read(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_published *published, const struct nb_view *view, uint64_t number,
                  const struct nb_stack_weights *twin, bool *found)
{
    int rc = nb_drawn_entry(drawn, live, view, number);
    if (rc == 0)
        rc = read_features(drawn, live);
    if (rc == 0)
        rc = put_inputs(drawn, live, published, twin, true);
    *found = rc == 0;
    return nb_drawn_unless_missing(rc);
}

bool nb_drawn_keeps(const struct nb_model *counts, const struct nb_stack_weights *twin)
{
    return twin != NULL &&
           nb_stack_twin_keeps(twin, nb_model_label_count(counts), nb_model_documents_all(counts));
}

int nb_drawn_rest(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_stack_weights *twin)
{
    int rc = read_features(drawn, live);
    if (rc != 0)
        return rc;
    drawn->others = nb_model_documents(live->counts, drawn->entry.change.label) - 1;
    if (!nb_order_teaches(drawn->others))
        return NB_NOT_FOUND;
    return put_inputs(drawn, live, live->published, twin, nb_drawn_keeps(live->counts, twin));
}

int nb_drawn_lesson(struct nb_drawn *drawn, const struct nb_live *live, const struct nb_view *view,
                    uint64_t number, const struct nb_stack_weights *twin, bool *found)
{
    drawn->others = 0;
    int rc = nb_drawn_entry(drawn, live, view, number);
    if (rc == 0)
        rc = nb_drawn_rest(drawn, live, twin);
    *found = rc == 0;
    return nb_drawn_unless_missing(rc);
}

int nb_drawn_teach_twin(const struct nb_live *live, struct nb_stack_weights *weights,
                        struct nb_stack_inputs *inputs, const struct nb_rows *rows, uint32_t label,
                        double weight)
{
    bool teaches;
    int rc = nb_stack_twin_weigh(weights, inputs, label, weight, &teaches);
    if (rc != 0 || !teaches)
        return rc;
    if (!inputs->is_kept) {
        nb_stack_inputs_twin(inputs, weights, true);
        rc = nb_stack_inputs_of_rows(live->published->stack, live->counts, rows->counts, rows->size,
                                     label, inputs);
    }
    return rc != 0 ? rc : nb_stack_twin_learn_features(weights, inputs, label, weight);
}
