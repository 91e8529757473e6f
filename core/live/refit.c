/* SPDX-License-Identifier: Apache-2.0 */
#include "core/live/refit.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/helpers/helpers.h"
#include "core/live/order.h"
#include "core/score/stack_fit.h"
#include "core/store/living.h"

enum {
    DOCUMENTS_MOST = 5000,
    INPUTS_MOST = 100000, /* documents times labels: bounds memory and time */
    /* Units of work, of about two nanoseconds: */
    READ_UNITS = 3000, /* to read a document, and for each feature of it: */
    FEATURE_UNITS = 3, /* for itself, */
    LABEL_UNITS = 2,   /* and for each label; */
    TWIN_TIMES = 2     /* factor, if the twin learns from it */
};

/* ---- documents ------------------------------------------------------------------------------- */

void nb_drawn_deinit(struct nb_drawn *drawn)
{
    nb_entry_deinit(&drawn->entry);
    nb_rows_deinit(&drawn->rows);
    nb_stack_inputs_deinit(&drawn->inputs);
}

/* The entry alone, from the ledger. */
static int read_entry(struct nb_drawn *drawn, const struct nb_live *live,
                      const struct nb_view *view, uint64_t number)
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

/* What says that there is nothing to learn is no error. */
static int unless_missing(int rc)
{
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT || rc == NB_CONFLICT ? 0 : rc;
}

int nb_drawn_read(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_published *published, const struct nb_view *view, uint64_t number,
                  const struct nb_stack_weights *twin, bool *found)
{
    int rc = read_entry(drawn, live, view, number);
    if (rc == 0)
        rc = read_features(drawn, live);
    if (rc == 0)
        rc = put_inputs(drawn, live, published, twin, true);
    *found = rc == 0;
    return unless_missing(rc);
}

bool nb_drawn_keeps(const struct nb_model *counts, const struct nb_stack_weights *twin)
{
    return twin != NULL &&
           nb_stack_twin_keeps(twin, nb_model_label_count(counts), nb_model_documents_all(counts));
}

/* The rest of a document whose entry was read; NB_NOT_FOUND: it does not teach. */
static int read_lesson(struct nb_drawn *drawn, const struct nb_live *live,
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
    int rc = read_entry(drawn, live, view, number);
    if (rc == 0)
        rc = read_lesson(drawn, live, twin);
    *found = rc == 0;
    return unless_missing(rc);
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

int nb_refit_list(struct nb_live *live, const struct nb_view *view)
{
    return live->living != NULL ? 0 : nb_living_load(view, live->number, &live->living, NULL);
}

/* ---- beginning ------------------------------------------------------------------------------- */

void nb_refit_drop(struct nb_live *live)
{
    nb_stack_fit_free(&live->fit);
    free(live->pass);
    live->pass = NULL;
}

static uint32_t labels_with_documents(const struct nb_model *counts)
{
    uint32_t labels = 0;
    for (uint32_t v = 0; v < nb_model_label_count(counts); v++)
        labels += nb_model_documents(counts, v) != 0;
    return labels;
}

static uint32_t sample_size(const struct nb_live *live, enum nb_order_refit why)
{
    uint64_t documents = nb_living_count(live->living);
    uint32_t labels = labels_with_documents(live->counts);
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
    nb_living_sample(live->living, &random, size, numbers);
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

/* ---- slices ---------------------------------------------------------------------------------- */

/* One that has others of its label counts whole, whether it teaches or not: what a change costs is
 * part of what a replay repeats. */
static uint64_t cost_of(const struct nb_live *live, const struct nb_drawn *drawn, bool found)
{
    uint64_t labels = found ? drawn->inputs.size : labels_with_documents(live->counts);
    return READ_UNITS +
           (drawn->others != 0) * drawn->rows.size * (FEATURE_UNITS + LABEL_UNITS * labels);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { AT_ONCE = 32 }; /* documents that are read at once, at most */

struct reading {
    struct nb_drawn drawn;
    bool is_living; /* its entry was not superseded */
    int code;       /* of what was done last */
};

struct nb_refit_reader {
    struct nb_helpers *helpers;
    const struct nb_live *live;          /* of the slice under way */
    const struct nb_stack_weights *twin; /* of which the inputs are, too; NULL: of none */
    size_t size;
    struct reading readings[AT_ONCE];
};

struct nb_refit_reader *nb_refit_reader_new(void)
{
    struct nb_refit_reader *reader = calloc(1, sizeof *reader);
    if (reader != NULL)
        reader->helpers = nb_helpers_new("refits");
    if (reader != NULL && reader->helpers == NULL)
        nb_refit_reader_free(&reader);
    return reader;
}

void nb_refit_reader_free(struct nb_refit_reader **reader)
{
    struct nb_refit_reader *r = *reader;
    *reader = NULL;
    if (r == NULL)
        return;
    nb_helpers_free(&r->helpers);
    for (size_t i = 0; i < AT_ONCE; i++)
        nb_drawn_deinit(&r->readings[i].drawn);
    free(r);
}

/* Any thread, while nobody changes the model. */
static void read_rest(void *user, size_t i)
{
    struct nb_refit_reader *reader = user;
    struct reading *reading = &reader->readings[i];
    if (reading->is_living && reading->code == 0)
        reading->code = read_lesson(&reading->drawn, reader->live, reader->twin);
}

/* About what cost_of will say of a document whose entry was read: a feature takes a byte or more in
 * a bag. */
static uint64_t expected_cost(const struct reading *reading, uint32_t labels)
{
    size_t features = reading->code == 0 ? reading->drawn.entry.change.bag.length : 0;
    return READ_UNITS + features * (FEATURE_UNITS + LABEL_UNITS * (uint64_t)labels);
}

/* The next document of the sample or, during the twin's pass, of that. False: there is none. */
static bool next_number(const struct nb_live *live, uint64_t *number)
{
    struct nb_pass *pass = live->pass;
    if (pass == NULL)
        return nb_stack_fit_next(live->fit, number);
    if (pass->next == pass->size)
        return false;
    *number = pass->numbers[pass->next++];
    return true;
}

/* Reads the entries of the next documents, on the writer's thread, which the transaction belongs
 * to: as many as the slice will have time for, and at most `count`. */
static void read_entries(struct nb_refit_reader *reader, const struct nb_view *view, uint64_t most,
                         size_t count)
{
    const struct nb_live *live = reader->live;
    uint32_t labels = labels_with_documents(live->counts);
    uint64_t number;
    reader->size = 0;
    for (uint64_t units = 0; units < most && reader->size < count;) {
        if (!next_number(live, &number))
            return;
        struct reading *reading = &reader->readings[reader->size++];
        reading->drawn.others = 0;
        reading->is_living = nb_living_has(live->living, number);
        if (!reading->is_living)
            continue;
        reading->code = read_entry(&reading->drawn, live, view, number);
        units += expected_cost(reading, labels);
    }
}

/* ---- the sample ------------------------------------------------------------------------------ */

/* Adds what was read to the fit, until the units are used up; the rest is read again by the next
 * slice, from the counts that there are then. Returns as read_sample. */
static int add_readings(struct nb_refit_reader *reader, uint64_t most, uint64_t *units)
{
    const struct nb_live *live = reader->live;
    size_t i = 0;
    int rc = 0;
    for (; rc == 0 && i < reader->size && *units < most; i++) {
        const struct reading *reading = &reader->readings[i];
        bool found = reading->code == 0;
        if (!reading->is_living)
            continue;
        rc = unless_missing(reading->code);
        if (rc == 0 && found)
            rc = nb_stack_fit_add(live->fit, &reading->drawn.inputs,
                                  reading->drawn.entry.change.label);
        *units += cost_of(live, &reading->drawn, found);
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
    reader->live = live;
    reader->twin = NULL;
    do {
        read_entries(reader, view, most - *units, AT_ONCE);
        nb_helpers_run(reader->helpers, reader->size, read_rest, reader);
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

/* Begins the pass of a new twin, after the new weights of the stack. It learns from each living
 * document once, in random order. */
static int begin_pass(struct nb_live *live)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    struct nb_random random = nb_order_random(order, NB_DRAW_PASS);
    uint32_t size = (uint32_t)nb_living_count(live->living);
    struct nb_pass *pass = malloc(sizeof *pass + size * sizeof *pass->numbers);
    if (pass == NULL)
        return NB_NO_MEMORY;
    pass->size = size;
    pass->next = 0;
    nb_living_sample(live->living, &random, size, pass->numbers);
    shuffle(pass, random);
    live->pass = pass;
    return nb_order_begin_pass(order);
}

/* How many documents are read at once for the twin. What it learned from one is part of the inputs
 * of the next; with two labels that part alone is computed again. */
static size_t read_for_twin(const struct nb_live *live)
{
    return labels_with_documents(live->counts) == 2 &&
                   nb_drawn_keeps(live->counts, nb_stack_fit_weights(live->fit))
               ? AT_ONCE
               : 1;
}

/* Teaches the twin a document that was read when nothing had been learned yet from the `before`
 * ones that were read with it. */
static int teach_twin(const struct nb_live *live, struct reading *reading, size_t before)
{
    struct nb_drawn *drawn = &reading->drawn;
    if (before > 0 && drawn->inputs.is_kept)
        nb_stack_inputs_twin_again(&drawn->inputs);
    return nb_drawn_teach_twin(live, nb_stack_fit_weights(live->fit), &drawn->inputs, &drawn->rows,
                               drawn->entry.change.label, 1);
}

/* Teaches the twin what was read, until the units are used up; the rest is read again. */
static int teach_readings(struct nb_refit_reader *reader, uint64_t most, uint64_t *units)
{
    const struct nb_live *live = reader->live;
    size_t i = 0;
    int rc = 0;
    for (; rc == 0 && i < reader->size && *units < most; i++) {
        struct reading *reading = &reader->readings[i];
        bool found = reading->code == 0;
        if (!reading->is_living)
            continue;
        rc = unless_missing(reading->code);
        if (rc == 0 && found)
            rc = teach_twin(live, reading, i);
        *units += TWIN_TIMES * cost_of(live, &reading->drawn, found);
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
    reader->live = live;
    reader->twin = nb_stack_fit_weights(live->fit);
    while (rc == 0 && units < most && pass->next < pass->size) {
        read_entries(reader, view, (most - units) / TWIN_TIMES + 1, read_for_twin(live));
        nb_helpers_run(reader->helpers, reader->size, read_rest, reader);
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
    bool wants = live->published->settings.twin &&
                 nb_order_wants_pass(order, documents, labels_with_documents(live->counts));
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

/* ---- what is to be done ---------------------------------------------------------------------- */

static bool is_same(double fingerprint, double other)
{
    return !(fingerprint < other) && !(fingerprint > other);
}

/* Whether the weights have learned all documents, with the present constants. The twin is ignored
 * if it is switched off. */
static bool is_fitted(const struct nb_live *live)
{
    const struct nb_published *p = live->published;
    double fitted = nb_order_fingerprint(nb_stack_weights_order(p->weights));
    return is_same(fitted, nb_stack_fingerprint(p->stack, true)) ||
           (!p->settings.twin && is_same(fitted, nb_stack_fingerprint(p->stack, false)));
}

int nb_refit_note_missed(struct nb_live *live)
{
    const struct nb_published *p = live->published;
    struct nb_weights *order = nb_stack_weights_order(p->weights);
    double with_twin = nb_stack_fingerprint(p->stack, true);
    if (p->settings.twin || !is_same(nb_order_fingerprint(order), with_twin))
        return 0;
    return nb_order_set_fingerprint(order, nb_stack_fingerprint(p->stack, false));
}

/* Whether a refit is under way that began with the present constants. */
static bool is_under_way(const struct nb_live *live)
{
    const struct nb_published *p = live->published;
    return live->fit != NULL && is_same(nb_stack_fit_fingerprint(live->fit),
                                        nb_stack_fingerprint(p->stack, p->settings.twin));
}

enum nb_order_refit nb_refit_why(const struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    if (!is_fitted(live))
        return NB_REFIT_STALE;
    return nb_order_wants_idle(order, nb_model_documents_all(live->counts)) ? NB_REFIT_OF_SKEW
                                                                            : NB_REFIT_OF_GROWTH;
}

static bool has_stacked_documents(const struct nb_live *live)
{
    return nb_published_is_stacked(live->published) && nb_model_documents_all(live->counts) > 0;
}

bool nb_refit_is_due(const struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    if (!nb_published_is_stacked(live->published) || is_under_way(live))
        return false;
    /* A lost refit begins again even without documents: in a replay it is under way, and the next
     * change must have the same effect. */
    return nb_order_is_refitting(order) ||
           (nb_model_documents_all(live->counts) > 0 && !is_fitted(live));
}

bool nb_refit_is_begun(const struct nb_live *live)
{
    return nb_refit_is_due(live) || (live->fit != NULL && has_stacked_documents(live));
}

bool nb_refit_is_next(const struct nb_live *live)
{
    return nb_refit_is_begun(live) && (nb_refit_is_due(live) || atomic_load(&live->is_stale) ||
                                       !nb_order_is_small(nb_model_documents_all(live->counts)) ||
                                       nb_clock_monotonic() - live->changed >= NB_REFIT_REST);
}

bool nb_refit_rests(const struct nb_live *live)
{
    return nb_refit_is_begun(live) && !nb_refit_is_next(live);
}

bool nb_refit_is_wanted(const struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    return nb_refit_is_begun(live) ||
           (has_stacked_documents(live) &&
            nb_order_wants_idle(order, nb_model_documents_all(live->counts)));
}

void nb_refit_note(struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    bool is_stale =
        !is_fitted(live) || nb_order_is_stale(order, nb_model_documents_all(live->counts));
    atomic_store(&live->is_stale, has_stacked_documents(live) && is_stale);
    atomic_store(&live->wants_refit, nb_refit_is_wanted(live));
    atomic_store(&live->is_skewed, has_stacked_documents(live) && nb_order_is_skewed(order));
}
