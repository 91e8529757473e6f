/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learn/refit.h"

#include <assert.h>
#include <stdlib.h>

#include "core/ledger/entries/current_entries.h"
#include "core/model/learn/order.h"
#include "core/model/learn/refit_reader.h"
#include "core/stack/stack_fit.h"

enum {
    DOCUMENTS_MOST = 5000,
    INPUTS_MOST = 100000, /* documents times labels: bounds memory and time */
    TWIN_TIMES = 2        /* factor of what a document costs, if the twin learns from it */
};

int nb_refit_list(struct nb_live *live, const struct nb_view *view)
{
    return live->current != NULL
               ? 0
               : nb_current_entries_load(view, live->number, &live->current, NULL);
}

/* ---- beginning ------------------------------------------------------------------------------- */

void nb_refit_drop(struct nb_live *live)
{
    nb_stack_fit_free(&live->fit);
    free(live->pass);
    live->pass = NULL;
}

/* Counts the documents that a refit learns from. If one label has them all, its probability is 1
 * with any weights: nothing is learned, and the weights stay at the start values. */
static uint64_t count_teaching(const struct nb_live *live)
{
    bool have_others = nb_model_labels_with_documents(live->counts) > 1;
    return have_others ? nb_current_entries_count(live->current) : 0;
}

static uint32_t sample_size(const struct nb_live *live, enum nb_order_refit why)
{
    uint64_t documents = count_teaching(live);
    uint32_t labels = nb_model_labels_with_documents(live->counts);
    uint64_t most = labels * (uint64_t)DOCUMENTS_MOST <= INPUTS_MOST ? (uint64_t)DOCUMENTS_MOST
                                                                     : INPUTS_MOST / labels;
    uint64_t wanted = nb_order_sample_most(nb_stack_weights_order(live->published->weights), why,
                                           nb_model_documents_all(live->counts), labels);
    most = wanted < most ? wanted : most;
    return (uint32_t)(documents < most ? documents : most);
}

static int make(struct nb_live *live, enum nb_order_refit why)
{
    struct nb_random random =
        nb_order_random(nb_stack_weights_order(live->published->weights), NB_DRAW_SAMPLE);
    uint32_t size = sample_size(live, why);
    uint64_t *numbers = calloc(size + (size_t)1, sizeof *numbers);
    if (numbers == NULL)
        return NB_NO_MEMORY;
    nb_current_entries_sample(live->current, &random, size, numbers);
    live->fit = nb_stack_fit_new(live->published->stack, random, numbers, size);
    free(numbers);
    return live->fit != NULL ? 0 : NB_NO_MEMORY;
}

int nb_refit_begin(struct nb_live *live, const struct nb_view *view, enum nb_order_refit why)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    nb_refit_drop(live);
    int rc = nb_refit_list(live, view);
    if (rc == 0)
        rc = nb_order_begin_refit(order, why, nb_model_documents_all(live->counts));
    if (rc == 0)
        rc = make(live, why);
    if (rc != 0)
        nb_refit_drop(live);
    return rc;
}

/* ---- the sample ------------------------------------------------------------------------------ */

/* Adds the documents that were read to the fit, until the units are used up. The next slice reads
 * the rest again, with the counts at that time. Returns as read_sample. */
static int add_readings(struct nb_refit_reader *reader, uint64_t most, uint64_t *units)
{
    const struct nb_live *live = reader->live;
    size_t i = 0;
    int rc = 0;
    for (; rc == 0 && i < reader->size && *units < most; i++) {
        const struct nb_refit_reading *reading = &reader->readings[i];
        bool found = reading->code == 0;
        if (!reading->is_current)
            continue;
        rc = nb_drawn_unless_missing(reading->code);
        if (rc == 0 && found)
            rc = nb_stack_fit_add(live->fit, &reading->drawn.inputs,
                                  reading->drawn.entry.change.label);
        *units += nb_refit_cost(live, &reading->drawn, found);
    }
    nb_stack_fit_return(live->fit, reader->size - i);
    return rc;
}

/* Reads documents of the sample until all are read, or the units are used up. Returns 0,
 * NB_CONFLICT (labels of the fit are gone) or another code. */
static int read_sample(struct nb_live *live, const struct nb_view *view, uint64_t most,
                       struct nb_refit_reader *reader, uint64_t *units)
{
    int rc = 0;
    do {
        nb_refit_read(reader, live, NULL, view, most - *units, NB_REFIT_AT_ONCE);
        rc = add_readings(reader, most, units);
    } while (rc == 0 && reader->size > 0 && *units < most);
    return rc;
}

/* ---- the twin's pass, and the end ------------------------------------------------------------ */

/* Replaces the old weights by the new ones. */
static int end(struct nb_live *live)
{
    struct nb_stack_weights *weights = live->published->weights;
    int rc = nb_stack_fit_finish(live->fit, live->pass != NULL, weights);
    if (rc == 0)
        rc = nb_order_end_refit(nb_stack_weights_order(weights),
                                nb_stack_fit_fingerprint(live->fit));
    nb_refit_drop(live);
    return rc;
}

static void shuffle(struct nb_pass *pass, struct nb_random random)
{
    for (uint32_t i = pass->size; i > 1; i--) {
        uint32_t other = (uint32_t)nb_random_below(&random, i);
        uint64_t number = pass->numbers[i - 1];
        pass->numbers[i - 1] = pass->numbers[other];
        pass->numbers[other] = number;
    }
}

/* Begins the pass of a new twin, after the new weights of the stack. It learns from each current
 * document once, in random order. */
static int begin_pass(struct nb_live *live)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    struct nb_random random = nb_order_random(order, NB_DRAW_PASS);
    uint32_t size = (uint32_t)count_teaching(live);
    struct nb_pass *pass = malloc(sizeof *pass + size * sizeof *pass->numbers);
    if (pass == NULL)
        return NB_NO_MEMORY;
    pass->size = size;
    pass->next = 0;
    nb_current_entries_sample(live->current, &random, size, pass->numbers);
    shuffle(pass, random);
    live->pass = pass;
    return nb_order_begin_pass(order);
}

/* The number of documents that are read at once for the twin. What the twin learns from one is part
 * of the inputs of the next; with two labels only that part is computed again. */
static size_t read_for_twin(const struct nb_live *live)
{
    return nb_model_labels_with_documents(live->counts) == 2 &&
                   nb_drawn_keeps(live->counts, nb_stack_fit_weights(live->fit))
               ? NB_REFIT_AT_ONCE
               : 1;
}

/* Teaches the twin a document. `before` documents were read together with it, and were learned
 * since. */
static int teach_twin(const struct nb_live *live, struct nb_refit_reading *reading, size_t before)
{
    struct nb_drawn *drawn = &reading->drawn;
    if (before > 0 && drawn->inputs.is_kept)
        nb_stack_inputs_twin_again(&drawn->inputs);
    return nb_drawn_teach_twin(live, nb_stack_fit_weights(live->fit), &drawn->inputs, &drawn->rows,
                               drawn->entry.change.label, 1);
}

/* Teaches the twin the documents that were read, until the units are used up; the rest is read
 * again. */
static int teach_readings(struct nb_refit_reader *reader, uint64_t most, uint64_t *units)
{
    const struct nb_live *live = reader->live;
    size_t i = 0;
    int rc = 0;
    for (; rc == 0 && i < reader->size && *units < most; i++) {
        struct nb_refit_reading *reading = &reader->readings[i];
        bool found = reading->code == 0;
        if (!reading->is_current)
            continue;
        rc = nb_drawn_unless_missing(reading->code);
        if (rc == 0 && found)
            rc = teach_twin(live, reading, i);
        *units += TWIN_TIMES * nb_refit_cost(live, &reading->drawn, found);
    }
    live->pass->next -= (uint32_t)(reader->size - i);
    return rc;
}

static int pass_slice(struct nb_live *live, const struct nb_view *view, uint64_t most,
                      struct nb_refit_reader *reader)
{
    const struct nb_pass *pass = live->pass;
    uint64_t units = 0;
    int rc = 0;
    while (rc == 0 && units < most && pass->next < pass->size) {
        nb_refit_read(reader, live, nb_stack_fit_weights(live->fit), view,
                      (most - units) / TWIN_TIMES + 1, read_for_twin(live));
        rc = teach_readings(reader, most, &units);
    }
    nb_stack_weights_commit(nb_stack_fit_weights(live->fit)); /* frees the undo list */
    return rc == 0 && pass->next == pass->size ? end(live) : rc;
}

/* Called when the stack's weights are fitted: begins the twin's pass, or ends the refit if there is
 * none. */
static int close_stack(struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    uint64_t documents = nb_model_documents_all(live->counts);
    nb_stack_fit_close(live->fit, documents);
    bool wants =
        live->published->settings.twin &&
        nb_order_wants_pass(order, documents, nb_model_labels_with_documents(live->counts));
    return wants ? begin_pass(live) : end(live);
}

struct nb_stack_weights *nb_refit_weights(const struct nb_live *live)
{
    return live->pass == NULL ? NULL : nb_stack_fit_weights(live->fit);
}

int nb_refit_slice(struct nb_live *live, const struct nb_view *view, uint64_t most,
                   struct nb_refit_reader *reader)
{
    uint64_t units = 0;
    uint64_t cost;
    if (live->fit == NULL)
        return 0;
    int rc = nb_refit_list(live, view);
    if (rc == 0 && live->pass != NULL)
        return pass_slice(live, view, most, reader);
    if (rc == 0)
        rc = read_sample(live, view, most, reader, &units);
    if (rc == NB_CONFLICT)
        return nb_refit_begin(live, view, NB_REFIT_OF_GROWTH);
    for (; rc == 0 && units < most && !nb_stack_fit_is_done(live->fit); units += cost)
        rc = nb_stack_fit_step(live->fit, &cost);
    if (rc != 0 || !nb_stack_fit_is_done(live->fit))
        return rc;
    rc = close_stack(live);
    return rc == 0 && live->pass != NULL && units < most
               ? pass_slice(live, view, most - units, reader)
               : rc;
}
