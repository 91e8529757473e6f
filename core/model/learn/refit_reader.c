/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learn/refit_reader.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/threads.h"
#include "core/ledger/entries/current_entries.h"
#include "core/stack/stack_fit.h"

enum {
    /* Units of work, of about two nanoseconds: */
    READ_UNITS = 3000, /* to read a document, and for each feature of it: */
    FEATURE_UNITS = 3, /* for itself, */
    LABEL_UNITS = 2    /* and for each label */
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

uint64_t nb_refit_cost(const struct nb_live *live, const struct nb_drawn *drawn, bool found)
{
    uint64_t labels = found ? drawn->inputs.size : nb_model_labels_with_documents(live->counts);
    return READ_UNITS +
           (drawn->others != 0) * drawn->rows.size * (FEATURE_UNITS + LABEL_UNITS * labels);
}

/* Estimates nb_refit_cost of a document whose entry was read: a feature takes at least a byte in a
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

void nb_refit_read(struct nb_refit_reader *reader, const struct nb_live *live,
                   const struct nb_stack_weights *twin, const struct nb_view *view, uint64_t most,
                   size_t count)
{
    assert(count <= NB_REFIT_AT_ONCE);
    reader->live = live;
    reader->twin = twin;
    read_entries(reader, view, most, count);
    nb_helpers_run(reader->helpers, reader->size, read_rest, reader);
}
