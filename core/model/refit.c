/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/refit.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/system.h"
#include "core/ledger/document_lists.h"
#include "core/model/order.h"
#include "core/stack/stack_fit.h"

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

/* Whether a refit is due or under way: the writer then writes a REFIT entry whenever it is idle. */
static bool refit_is_begun(const struct nb_live *live)
{
    return nb_refit_is_due(live) || (live->fit != NULL && has_stacked_documents(live));
}

bool nb_refit_is_next(const struct nb_live *live)
{
    return refit_is_begun(live) && (nb_refit_is_due(live) || atomic_load(&live->is_stale) ||
                                    !nb_order_is_small(nb_model_documents_all(live->counts)) ||
                                    nb_clock_monotonic() - live->changed >= NB_REFIT_REST);
}

bool nb_refit_rests(const struct nb_live *live)
{
    return refit_is_begun(live) && !nb_refit_is_next(live);
}

bool nb_refit_is_wanted(const struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    return refit_is_begun(live) ||
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

enum {
    /* Units of work, of about two nanoseconds: */
    READ_UNITS = 3000, /* to read a document ... */
    FEATURE_UNITS = 3, /* ... and for each of its features, */
    LABEL_UNITS = 2    /* plus these for each label of the feature */
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
    nb_known_teacher_deinit(&r->known);
    for (size_t i = 0; i < NB_REFIT_AT_ONCE; i++)
        nb_drawn_deinit(&r->readings[i].drawn);
    free(r);
}

/* Any thread, while nobody changes the model. */
static void read_rest(void *user, size_t i)
{
    struct nb_refit_reader *reader = user;
    struct nb_refit_reading *reading = &reader->readings[i];
    if (reading->is_current && reading->code == 0)
        reading->code = nb_drawn_rest(&reading->drawn, reader->live, reader->twin);
}

/* Units of work, of about two nanoseconds, for a document that was read. If other documents have
 * its label, the document counts in full, whether it teaches or not: a replay must count the same
 * cost for a change. */
static uint64_t refit_cost(const struct nb_live *live, const struct nb_drawn *drawn, bool found)
{
    uint64_t labels = found ? drawn->inputs.size : nb_model_labels_with_documents(live->counts);
    return READ_UNITS +
           (drawn->others != 0) * drawn->rows.size * (FEATURE_UNITS + LABEL_UNITS * labels);
}

/* Estimates refit_cost of a document whose entry was read: a feature takes at least a byte in a
 * bag. */
static uint64_t expected_cost(const struct nb_refit_reading *reading, uint32_t labels)
{
    size_t features = reading->code == 0 ? reading->drawn.entry.change.bag.length : 0;
    return READ_UNITS + features * (FEATURE_UNITS + LABEL_UNITS * (uint64_t)labels);
}

/* Sets *number to the next document of the sample or, during the twin's pass, of the pass. False:
 * there is none. */
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

/* Reads the entries of the next documents, on the writer's thread. */
static void read_entries(struct nb_refit_reader *reader, const struct nb_view *view, uint64_t most,
                         size_t count)
{
    const struct nb_live *live = reader->live;
    uint32_t labels = nb_model_labels_with_documents(live->counts);
    uint64_t number;
    reader->size = 0;
    for (uint64_t units = 0; units < most && reader->size < count;) {
        if (!next_number(live, &number))
            return;
        struct nb_refit_reading *reading = &reader->readings[reader->size++];
        reading->drawn.others = 0;
        reading->is_current = nb_current_entries_has(live->current, number);
        if (!reading->is_current)
            continue;
        reading->code = nb_drawn_entry(&reading->drawn, live, view, number);
        units += expected_cost(reading, labels);
    }
}

/* Reads the next documents into `readings`, with the inputs of `twin` (NULL: none): as many
 * documents as `most` units are likely to suffice for, and at most `count`. */
static void refit_read(struct nb_refit_reader *reader, const struct nb_live *live,
                       const struct nb_stack_weights *twin, const struct nb_view *view,
                       uint64_t most, size_t count)
{
    assert(count <= NB_REFIT_AT_ONCE);
    reader->live = live;
    reader->twin = twin;
    read_entries(reader, view, most, count);
    nb_helpers_run(reader->helpers, reader->size, read_rest, reader);
}

enum {
    DOCUMENTS_MOST = 5000,
    INPUTS_MOST = 100000, /* documents times labels: bounds memory and time */
    TWIN_TIMES = 2        /* factor of a document's cost if the twin learns from it */
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
    if (rc == 0 && why == NB_REFIT_ASKED)
        rc = nb_known_reset(live);
    if (rc == 0)
        rc = make(live, why);
    if (rc != 0)
        nb_refit_drop(live);
    return rc;
}

/* ---- the sample ------------------------------------------------------------------------------ */

/* Adds the documents that were read to the fit, until the units are used up. The next slice reads
 * the rest again, with the counts at that time. Returns as read_sample. */
static int add_readings(struct nb_refit_reader *reader, struct nb_live *live, uint64_t most,
                        uint64_t *units)
{
    size_t i = 0;
    int rc = 0;
    for (; rc == 0 && i < reader->size && *units < most; i++) {
        const struct nb_drawn *drawn = &reader->readings[i].drawn;
        bool found = reader->readings[i].code == 0, teaches = found && nb_known_is_young(live);
        uint32_t label = drawn->entry.change.label;
        if (!reader->readings[i].is_current)
            continue;
        rc = nb_drawn_unless_missing(reader->readings[i].code);
        if (rc == 0 && found)
            rc = nb_stack_fit_add(live->fit, &drawn->inputs, label);
        if (rc == 0 && teaches)
            rc = nb_known_teach(&reader->known, live, &drawn->inputs, NULL, &drawn->rows, label);
        *units += (1u + teaches) * refit_cost(live, drawn, found);
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
        refit_read(reader, live, NULL, view, most - *units, NB_REFIT_AT_ONCE);
        rc = add_readings(reader, live, most, units);
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
    nb_stack_lesson_forget(weights);
    nb_refit_drop(live);
    return rc;
}

static void shuffle(uint64_t *numbers, size_t size, struct nb_random *random)
{
    for (size_t i = size; i > 1; i--) {
        size_t other = (size_t)nb_random_below(random, i);
        uint64_t number = numbers[i - 1];
        numbers[i - 1] = numbers[other];
        numbers[other] = number;
    }
}

/* Begins the pass of a new twin, after the new weights of the stack. It learns from each current
 * document, in random order, and then again in another one if the pass is to be made twice. */
static int begin_pass(struct nb_live *live)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    struct nb_random random = nb_order_random(order, NB_DRAW_PASS);
    size_t size = (size_t)count_teaching(live), times = nb_order_pass_times(order);
    struct nb_pass *pass = malloc(sizeof *pass + times * size * sizeof *pass->numbers);
    assert(times * size <= UINT32_MAX);
    if (pass == NULL)
        return NB_NO_MEMORY;
    pass->size = (uint32_t)(times * size);
    pass->next = 0;
    nb_current_entries_sample(live->current, &random, size, pass->numbers);
    for (size_t time = 0; time < times; time++) {
        memmove(pass->numbers + time * size, pass->numbers, size * sizeof *pass->numbers);
        shuffle(pass->numbers + time * size, size, &random);
    }
    live->pass = pass;
    return nb_order_begin_pass(order);
}

/* The number of documents that are read at once for the twin. What the twin learns from one
 * document changes a part of the next one's inputs; with two labels only that part is computed
 * again. */
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
        *units += TWIN_TIMES * refit_cost(live, &reading->drawn, found);
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
        refit_read(reader, live, nb_stack_fit_weights(live->fit), view,
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
