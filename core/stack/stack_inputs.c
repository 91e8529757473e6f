/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a document. core/stack/stack_two.c computes the sums for two labels,
 * core/stack/stack_many.c those for more.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/stack/passages.h"
#include "core/stack/stack_attributes.h"
#include "core/stack/stack_private.h"

/* ---- inputs of a document -------------------------------------------------------------------- */

void nb_stack_inputs_init(struct nb_stack_inputs *inputs)
{
    *inputs = (struct nb_stack_inputs){0};
}

void nb_stack_inputs_deinit(struct nb_stack_inputs *inputs)
{
    free(inputs->labels);
    free(inputs->x);
    free(inputs->t);
    free(inputs->noted);
    free(inputs->said);
    nb_stack_passages_free(&inputs->passages);
    if (inputs->scratch != NULL)
        nb_stack_scratch_free(&inputs->scratch);
    nb_stack_attributes_free(&inputs->attributes);
    nb_stack_evidence_free(&inputs->evidence);
    nb_stack_inputs_init(inputs);
}

void nb_stack_inputs_twin(struct nb_stack_inputs *inputs, const struct nb_stack_weights *weights,
                          bool keeps)
{
    inputs->twin = weights != NULL && weights->settings.twin ? weights : NULL;
    inputs->keeps = keeps;
}

int nb_stack_inputs_room(struct nb_stack_inputs *inputs, uint32_t labels)
{
    if (labels <= inputs->room)
        return 0;
    struct nb_stack_inputs larger = {.room = labels,
                                     .twin = inputs->twin,
                                     .keeps = inputs->keeps,
                                     .is_brief = inputs->is_brief,
                                     .wants_passages = inputs->wants_passages};
    larger.labels = malloc(labels * sizeof *larger.labels);
    larger.x = malloc((size_t)labels * NB_STACK_INPUTS * sizeof *larger.x);
    larger.t = malloc(labels * sizeof *larger.t);
    if (larger.labels == NULL || larger.x == NULL || larger.t == NULL) {
        nb_stack_inputs_deinit(&larger);
        return NB_NO_MEMORY;
    }
    nb_stack_inputs_deinit(inputs);
    *inputs = larger;
    return 0;
}

/* ---- any number of labels -------------------------------------------------------------------- */

/* More than two labels: prefetches what a later row needs besides the row itself. */
NB_PREFETCHING void prefetch_row(const struct nb_stack_pass *p, struct nb_row row)
{
    nb_counts_prefetch(p->model, row);
    if (p->twin != NULL)
        nb_slots_prefetch(p->twin->slots, (uint32_t)row.id);
}

/* More than two labels. */
static void add_row(const struct nb_stack_pass *p, unsigned field, struct nb_row row)
{
    uint64_t all = nb_counts_documents(p->model, row);
    if (p->without != NULL)
        all = nb_stack_less(all, p->without->is_whole
                                     ? nb_counts_of(p->model, row, p->without->label).documents
                                     : 1);
    if (all != 0)
        nb_stack_many_add(p, field, row, all);
}

static void add_found(const struct nb_stack_pass *p, uint32_t number, struct nb_row row)
{
    unsigned field = nb_feature_field(row.id);
    if (field >= NB_FIELDS) {
        nb_stack_attributes_note(p->inputs, row.id, number, false);
        return;
    }
    p->inputs->features[field]++;
    if (nb_row_is_used(row) && p->view->columns > 1)
        add_row(p, field, row);
}

/* A feature of a step, whose cells were read. */
static inline struct nb_row row_of(const struct nb_feature *features, const struct nb_found *found,
                                   size_t i)
{
    return (struct nb_row){.id = features[i].id, .cells = found->cells[i]};
}

/* Adds the features of a bag when there are not two labels. */
static void add_features(const struct nb_stack_pass *p, const struct nb_feature *features,
                         size_t size, const struct nb_found *known)
{
    const bool has_many = p->view->columns > 1;
    struct nb_step own;
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        const struct nb_feature *at = features + start;
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        struct nb_found found = nb_model_step_cells(p->model, features, start, step, known, &own);
        for (size_t i = 0; i < step; i++) {
            size_t ahead = i + NB_STACK_AHEAD_OF_CELLS;
            if (has_many && ahead < step && found.rows[ahead] != NB_NO_ROW)
                prefetch_row(p, row_of(at, &found, ahead));
            if (has_many && i + NB_STACK_AHEAD_OF_REST < step)
                nb_counts_prefetch_rest(p->model, row_of(at, &found, i + NB_STACK_AHEAD_OF_REST));
            if (p->inputs->has_passages && at[i].passage != p->inputs->passages->part)
                nb_stack_passages_turn(p, at[i].passage);
            add_found(p, found.rows[i], row_of(at, &found, i));
        }
    }
    if (p->inputs->has_passages && p->inputs->passages->part != 0)
        nb_stack_passages_turn(p, 0);
}

/* Adds rows and counts the features of each field. Returns how many rows belong to no field. */
static size_t add_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                       uint32_t features[NB_FIELDS])
{
    size_t others = 0;
    for (size_t i = 0; i < size; i++) {
        struct nb_row row = nb_stack_row_of(p, rows, size, i);
        if (i + NB_STACK_AHEAD_OF_CELLS < size)
            prefetch_row(p, nb_model_row(p->model, rows[i + NB_STACK_AHEAD_OF_CELLS].row));
        if (i + NB_STACK_AHEAD_OF_REST < size)
            nb_counts_prefetch_rest(p->model,
                                    nb_model_row(p->model, rows[i + NB_STACK_AHEAD_OF_REST].row));
        unsigned field = nb_feature_field(row.id);
        if (field >= NB_FIELDS) {
            others++;
            continue;
        }
        features[field]++;
        add_row(p, field, row);
    }
    return others;
}

/* Sets the group of all fields but n-grams: adds up the sums of these fields in their order. */
static void put_total(const struct nb_stack_pass *p, double *x)
{
    const struct nb_stack_inputs *in = p->inputs;
    double *total = x + (size_t)NB_STACK_TOTAL * in->size;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        if (field == NB_FIELD_NGRAM || in->features[field] == 0)
            continue;
        for (uint32_t v = 0; v < in->size; v++)
            total[v] += x[(size_t)field * in->size + v];
    }
}

/* With two labels, or one: what the fields add to t. */
static void put_twin(const struct nb_stack_inputs *in)
{
    double shares[NB_FIELDS];
    nb_stack_evidence_shares(in->features, nb_stack_attribute_count(in), shares);
    in->t[in->size - 1] = in->t[0] = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        in->t[in->size - 1] += shares[field] * in->evidence->gains[field];
}

static void finish_twin(const struct nb_stack_pass *p)
{
    struct nb_stack_inputs *in = p->inputs;
    in->has_twin = true;
    in->is_kept = p->twin->keeps;
    if (in->size <= 2) /* else nb_stack_many_finish has done it */
        put_twin(in);
}

void nb_stack_inputs_twin_again(struct nb_stack_inputs *in)
{
    struct nb_stack_evidence *evidence = in->evidence;
    assert(in->size == 2 && in->has_twin && in->is_kept);
    struct nb_slots_values slots = nb_slots_values(evidence->slots);
    double gains[NB_FIELDS] = {0};
    for (size_t i = 0; i < evidence->term_count; i++) {
        const struct nb_stack_term *term = &evidence->terms[i];
        gains[term->field] += (double)slots.values[term->key & slots.mask] * term->gain;
    }
    memcpy(evidence->gains, gains, sizeof gains);
    put_twin(in);
    nb_stack_attributes_twin_again(in);
}

/* Turns the sums into inputs. Returns 0 or NB_NO_MEMORY. */
static int finish(const struct nb_stack_pass *p, const struct nb_stack_settings *settings)
{
    struct nb_stack_inputs *in = p->inputs;
    if (in->size > 2)
        nb_stack_many_finish(p);
    else if (in->size == 2)
        nb_stack_two_finish(p);
    if (in->has_passages)
        nb_stack_passages_whole(p);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        in->features[NB_STACK_TOTAL] += field == NB_FIELD_NGRAM ? 0 : in->features[field];
    double shares[NB_STACK_GROUPS];
    for (unsigned g = 0; g < NB_STACK_GROUPS; g++)
        shares[g] = nb_stack_share(settings, in->features[g]);
    for (unsigned e = 0; e < p->experts; e++) {
        double *x = in->x + (size_t)e * NB_STACK_GROUPS * in->size;
        put_total(p, x);
        for (unsigned g = 0; g < NB_STACK_GROUPS; g++) {
            if (in->features[g] == 0)
                continue;
            for (uint32_t v = 0; v < in->size; v++)
                x[(size_t)g * in->size + v] *= shares[g];
            if (in->size == 2)
                x[(size_t)g * 2 + 1] = -x[(size_t)g * 2];
        }
    }
    if (p->twin != NULL)
        finish_twin(p);
    if (p->twin != NULL && p->twin->failed)
        return NB_NO_MEMORY;
    if (in->has_passages && in->has_twin)
        memcpy(in->passages->t, in->t, in->size * sizeof *in->t);
    return nb_stack_attributes_put(p);
}

/* Begins the twin's part, if the inputs ask for a twin. */
static int begin_twin(struct nb_stack_pass *pass, size_t size)
{
    struct nb_stack_inputs *in = pass->inputs;
    in->has_twin = in->is_kept = false;
    if (in->twin == NULL)
        return 0;
    if (in->evidence == NULL && (in->evidence = calloc(1, sizeof *in->evidence)) == NULL)
        return NB_NO_MEMORY;
    pass->twin = in->evidence;
    pass->twin->features = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        pass->twin->features += nb_model_vocabulary(pass->model, field);
    for (unsigned part = 0; part < nb_model_parts(pass->model); part++)
        pass->twin->features += nb_model_vocabulary(pass->model, NB_FIRST_PART + part);
    return nb_stack_evidence_start(pass->twin, &in->twin->slots, in->keeps, pass->view->columns,
                                   size);
}

/* Fills in the pass, and empties the inputs. Returns 0, NB_CONFLICT or NB_NO_MEMORY. */
static int begin(struct nb_stack_pass *pass, struct nb_stack *stack, const struct nb_model *model,
                 size_t size, bool is_of_rows, struct nb_stack_inputs *inputs)
{
    const struct nb_stack_view *view;
    int rc = nb_stack_view(stack, model, &view);
    if (rc == 0 && view->size == 0)
        return NB_CONFLICT;
    if (rc == 0)
        rc = nb_stack_inputs_room(inputs, view->size);
    if (rc != 0)
        return rc;
    *pass = (struct nb_stack_pass){
        .stack = stack,
        .model = model,
        .view = view,
        .readings = nb_stack_readings(stack, view->size),
        .experts = nb_stack_bank(&stack->settings, view->size)->size,
        .is_of_rows = is_of_rows,
        .inputs = inputs,
        .offsets = view->offsets,
    };
    assert(view->size <= inputs->room && pass->experts <= NB_STACK_EXPERTS);
    inputs->size = view->size;
    inputs->count = pass->experts * NB_STACK_GROUPS;
    memcpy(inputs->labels, view->labels, view->size * sizeof *view->labels);
    memset(inputs->x, 0, (size_t)inputs->count * view->size * sizeof *inputs->x);
    memset(inputs->features, 0, sizeof inputs->features);
    nb_stack_attributes_empty(inputs);
    inputs->has_passages = !is_of_rows && inputs->wants_passages && view->size > 1 &&
                           view->columns <= NB_STACK_FEW_LABELS;
    if (inputs->has_passages && nb_stack_passages_begin(pass) != 0)
        return NB_NO_MEMORY;
    rc = view->columns == 1 ? nb_stack_two_start(pass, size) : 0;
    return rc != 0 ? rc : begin_twin(pass, size);
}

int nb_stack_inputs(struct nb_stack *stack, const struct nb_model *model,
                    const struct nb_feature *features, size_t size, struct nb_stack_inputs *inputs,
                    struct nb_error *error)
{
    return nb_stack_inputs_found(stack, model, features, size, NULL, inputs, error);
}

int nb_stack_inputs_found(struct nb_stack *stack, const struct nb_model *model,
                          const struct nb_feature *features, size_t size,
                          const struct nb_found *found, struct nb_stack_inputs *inputs,
                          struct nb_error *error)
{
    struct nb_stack_pass pass;
    int rc = begin(&pass, stack, model, size, false, inputs);
    if (rc == NB_CONFLICT)
        return nb_error_set(error, rc, "the model has not learned a document yet");
    if (rc != 0 || (inputs->size > 2 && nb_stack_many_start(&pass, size) != 0))
        return nb_error_no_memory(error);
    if (pass.view->columns == 1)
        nb_stack_two_add(&pass, features, size, found);
    else
        add_features(&pass, features, size, found);
    if (finish(&pass, &stack->settings) != 0)
        return nb_error_no_memory(error);
    if (inputs->has_passages)
        nb_stack_passages_end(&pass, features, size);
    return 0;
}

/* ---- a counted document ---------------------------------------------------------------------- */

/* Reads the rows of values in a loop of their own, so that the loop over words calls no function.
 * Returns 0, or NB_CORRUPT if a row was dropped. */
static int survey_values(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                         size_t size)
{
    for (size_t i = 0; i < size; i++) {
        struct nb_row row = nb_model_row(p->model, rows[i].row);
        unsigned field = nb_feature_field(row.id);
        if (field >= NB_FIELDS && field != NB_FIELD_VALUE)
            return NB_CORRUPT; /* NB_DROPPED_ID */
        if (field == NB_FIELD_VALUE)
            nb_stack_attributes_note(p->inputs, row.id, rows[i].row,
                                     nb_counts_documents(p->model, row) == 1);
    }
    return 0;
}

/* Surveys all rows of a document when there are not two labels; returns how many belong to no
 * field. A single label has no evidence against it, so its rows' cells are not read. */
static size_t survey_fields(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                            size_t size, struct nb_stack_without *without)
{
    bool asks_cells = p->without != NULL && p->view->size > 1;
    size_t others = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned field = nb_feature_field(nb_stack_id_of(p, rows, size, i));
        if (asks_cells && i + NB_STACK_AHEAD_OF_CELLS < size)
            nb_counts_prefetch(p->model,
                               nb_model_row(p->model, rows[i + NB_STACK_AHEAD_OF_CELLS].row));
        if (field >= NB_FIELDS) {
            others++;
            continue;
        }
        without->features[field]++;
        if (asks_cells)
            without->unique[field] +=
                nb_counts_documents(p->model, nb_model_row(p->model, rows[i].row)) == 1;
    }
    return others;
}

/* Ends the survey; `others` rows belong to no field. Returns 0, or NB_CORRUPT if one of them was
 * dropped. */
static int end_survey(const struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                      size_t others, const struct nb_stack_without *without)
{
    memcpy(p->inputs->features, without->features, sizeof without->features);
    return others == 0 ? 0 : survey_values(p, rows, size);
}

static int survey(struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                  struct nb_stack_without *without)
{
    size_t others = p->view->columns == 1 ? nb_stack_two_survey(p, rows, size, without)
                                          : survey_fields(p, rows, size, without);
    return end_survey(p, rows, size, others, without);
}

/* Extends what is left out from the document to all documents of its label. */
static void take_label(const struct nb_stack_pass *p, struct nb_stack_without *out)
{
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        uint64_t all =
            out->features[field] == 0 ? 0 : nb_counts_presences(p->model, out->label, field);
        out->features[field] = all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
        out->unique[field] = 0;
    }
}

/* More than two labels. The rows of a left-out document are read twice, because the offsets depend
 * on its features; other documents are read once. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
static int read_rows(struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                     struct nb_stack_without *out)
{
    uint32_t features[NB_FIELDS] = {0};
    int rc = p->without != NULL ? survey(p, rows, size, out) : 0;
    if (out->is_whole)
        take_label(p, out);
    if (rc == 0)
        rc = nb_stack_many_start(p, size);
    if (rc != 0)
        return rc;
    size_t others = add_rows(p, rows, size, features);
    if (p->without != NULL)
        return 0;
    memcpy(out->features, features, sizeof features);
    return end_survey(p, rows, size, others, out);
}

/* With two labels: computes the offsets of the document's fields. */
static void put_own_offsets(struct nb_stack_pass *p, double *offsets)
{
    const struct nb_stack_bank *bank = nb_stack_bank(&p->stack->settings, p->view->size);
    for (unsigned e = 0; e < p->experts; e++)
        for (unsigned field = 0; field < NB_FIELDS; field++)
            if (p->without->features[field] != 0)
                nb_stack_put_offsets(p->view, p->model, nb_stack_taken(p->without, field), field,
                                     nb_stack_added(&bank->experts[e]),
                                     &offsets[e * NB_FIELDS + field]);
    p->offsets = offsets;
}

static int inputs_of_rows(struct nb_stack *stack, const struct nb_model *model,
                          const struct nb_row_count *rows, size_t size, uint32_t without,
                          bool is_whole, struct nb_stack_inputs *inputs)
{
    struct nb_stack_pass pass;
    struct nb_stack_without out = {.label = without, .is_whole = is_whole};
    double offsets[NB_STACK_EXPERTS * NB_FIELDS] = {0};
    if (without != NB_STACK_NO_LABEL && nb_model_documents(model, without) < 2)
        return NB_CONFLICT;
    int rc = begin(&pass, stack, model, size, true, inputs);
    if (rc != 0)
        return rc;
    pass.without = without != NB_STACK_NO_LABEL ? &out : NULL;
    rc = inputs->size > 2 ? read_rows(&pass, rows, size, &out) : survey(&pass, rows, size, &out);
    if (rc == 0 && pass.without != NULL && inputs->size == 2)
        put_own_offsets(&pass, offsets);
    return rc != 0 ? rc : finish(&pass, &stack->settings);
}

int nb_stack_inputs_of_rows(struct nb_stack *stack, const struct nb_model *model,
                            const struct nb_row_count *rows, size_t size, uint32_t without,
                            struct nb_stack_inputs *inputs)
{
    return inputs_of_rows(stack, model, rows, size, without, false, inputs);
}

int nb_stack_inputs_without_label(struct nb_stack *stack, const struct nb_model *model,
                                  const struct nb_row_count *rows, size_t size, uint32_t without,
                                  struct nb_stack_inputs *inputs)
{
    return inputs_of_rows(stack, model, rows, size, without, true, inputs);
}
