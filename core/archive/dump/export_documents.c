/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "core/archive/dump/exporting.h"
#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/ledger/entries/ledger_features.h"

enum { PAUSE = 1 }; /* the step is over; the next one continues the walk */

static int damaged(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s", what);
}

/* Called before each entry. False at the first of a step, so that each step makes progress. */
static bool is_over(struct nb_export *e)
{
    bool is_over = e->has_moved && nb_clock_monotonic() > e->over;
    e->has_moved = true;
    return is_over;
}

/* Ends a walk; the next step continues with `next`. */
static int pause_before(struct nb_export *e, uint64_t next)
{
    e->next = next;
    return PAUSE;
}

/* ---- survey ---------------------------------------------------------------------------------- */

static int survey(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_export *e = user;
    const struct nb_change *c = &entry->change;
    bool current;
    if (is_over(e))
        return pause_before(e, entry->number);
    if (c->new_count > 0 && !nb_features_have_texts(c->features))
        e->has_texts = false;
    int rc = nb_ledger_is_current(e->view, entry, &current, error);
    if (rc != 0 || !current)
        return rc;
    if (nb_array_reserve(&e->arrivals, &e->arrival_room, e->arrival_count + 1,
                         sizeof *e->arrivals) != 0)
        return nb_error_no_memory(error);
    e->arrivals[e->arrival_count++] = (struct nb_arrival){
        .first = c->first != 0 ? c->first : entry->number, .number = entry->number};
    return 0;
}

static int by_arrival(const void *a, const void *b)
{
    uint64_t x = ((const struct nb_arrival *)a)->first;
    uint64_t y = ((const struct nb_arrival *)b)->first;
    return (x > y) - (x < y);
}

static int read_label(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct nb_export *e = user;
    struct nb_label_record record;
    int rc = nb_label_read(&record, value, error);
    if (rc != 0)
        return rc;
    if (nb_store_key_tail(key) != e->label_count)
        return damaged(error, "labels out of order");
    if (nb_array_reserve(&e->labels, &e->label_room, e->label_count + 1, sizeof *e->labels) != 0)
        return nb_error_no_memory(error);
    e->labels[e->label_count] = nb_string_copy(record.name);
    return e->labels[e->label_count++] == NULL ? nb_error_no_memory(error) : 0;
}

static int read_state(struct nb_export *e, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(e->live->number);
    struct nb_string value;
    int rc = nb_store_get(e->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&e->state, value, error);
    return rc == NB_NOT_FOUND ? damaged(error, "a model's state is missing") : rc;
}

static int make_numbers(struct nb_export *e, struct nb_error *error)
{
    e->numbers = malloc(((size_t)e->state.rows + 1) * sizeof *e->numbers);
    if (e->numbers == NULL)
        return nb_error_no_memory(error);
    for (uint32_t i = 0; i < e->state.rows; i++)
        e->numbers[i] = NB_NO_ROW;
    return 0;
}

static int begin_survey(struct nb_export *e, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(e->live->number);
    int rc = read_state(e, error);
    if (rc == 0)
        rc = make_numbers(e, error);
    return rc != 0 ? rc
                   : nb_store_scan(e->view, NB_TABLE_LABELS, nb_store_key_string(&key), key.length,
                                   read_label, e, error);
}

int nb_export_survey(struct nb_export *export, struct nb_error *error)
{
    int rc = export->next == 0 ? begin_survey(export, error) : 0;
    return rc != 0 ? rc
                   : nb_ledger_walk(export->view, export->live->number, export->next, survey,
                                    export, error);
}

void nb_export_sort(struct nb_export *export)
{
    struct nb_export *e = export;
    if (e->arrival_count > 1)
        qsort(e->arrivals, e->arrival_count, sizeof *e->arrivals, by_arrival);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* A dump has no dropped rows, so the others are renumbered. Their order stays the same, because
 * sums over all words are computed in row order and must not change. */
static int number_rows(struct nb_export *e, const struct nb_ledger_run *run, struct nb_error *error)
{
    if ((uint64_t)run->first_row + run->count > e->state.rows)
        return damaged(error, "a feature has an impossible row");
    for (size_t i = 0; i < run->count; i++) {
        if (e->numbers[run->first_row + i] != NB_NO_ROW)
            return damaged(error, "a feature is in the ledger twice");
        e->numbers[run->first_row + i] = (uint32_t)e->totals.features++;
    }
    return 0;
}

static int dump_words(void *user, const struct nb_ledger_run *run, struct nb_error *error)
{
    struct nb_export *e = user;
    const struct nb_change *c = &run->entry->change;
    struct nb_dump_words words = {.first_row = (uint32_t)e->totals.features, .count = run->count};
    if (is_over(e))
        return pause_before(e, run->first_row);
    int rc = number_rows(e, run, error);
    if (rc == 0 && e->decoded != run->entry->number)
        rc = nb_features_decode(e->coder, c->features, c->new_count, e->live->id_key, &e->ids,
                                &e->texts, error);
    if (rc != 0)
        return rc;
    e->decoded = run->entry->number;
    words.ids = e->ids + run->index;
    words.texts = e->texts == NULL ? NULL : e->texts + run->index;
    return e->sink->words(e->sink->user, &words);
}

int nb_export_words(struct nb_export *export, struct nb_error *error)
{
    return nb_ledger_walk_runs(export->view, export->live->number, (uint32_t) export->next,
                               dump_words, export, error);
}

/* ---- documents ------------------------------------------------------------------------------- */

static int list_bag(struct nb_export *e, const struct nb_change *c, struct nb_error *error)
{
    int rc = nb_bag_decode(c->bag, e->state.rows, &e->bag, error);
    if (rc != 0)
        return rc;
    if (nb_array_reserve(&e->row_list, &e->row_room, e->bag.size + 1, sizeof *e->row_list) != 0 ||
        nb_array_reserve(&e->count_list, &e->count_room, e->bag.size + 1, sizeof *e->count_list) !=
            0)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < e->bag.size; i++) {
        e->bag.counts[i].row = e->numbers[e->bag.counts[i].row];
        if (e->bag.counts[i].row == NB_NO_ROW)
            return damaged(error, "features are missing in the ledger");
    }
    nb_rows_sort(&e->bag);
    for (size_t i = 0; i < e->bag.size; i++) {
        e->row_list[i] = e->bag.counts[i].row;
        e->count_list[i] = e->bag.counts[i].count;
        e->totals.occurrences += e->bag.counts[i].count;
    }
    return 0;
}

static int dump_document(struct nb_export *e, const struct nb_entry *entry, struct nb_error *error)
{
    const struct nb_change *c = &entry->change;
    int rc = list_bag(e, c, error);
    if (rc != 0)
        return rc;
    struct nb_dump_document document = {.id = c->id,
                                        .label = c->label,
                                        .learned = c->time,
                                        .source = c->source,
                                        .tokens = c->tokens,
                                        .rows = e->row_list,
                                        .counts = e->count_list,
                                        .size = e->bag.size,
                                        .score = c->label == NB_NO_LABEL ? (struct nb_string){"", 0}
                                                                         : c->score};
    static_assert((int)NB_DUMP_NO_LABEL == (int)NB_NO_LABEL, "a dump's numbers are the ledger's");
    assert(c->kind == NB_CHANGE_TRAIN);
    e->totals.documents++;
    return e->sink->document(e->sink->user, &document);
}

int nb_export_documents(struct nb_export *export, struct nb_error *error)
{
    struct nb_export *e = export;
    struct nb_entry entry = {0};
    int rc = 0;
    for (; rc == 0 && e->arrival < e->arrival_count; e->arrival += rc == 0) {
        if (is_over(e)) {
            rc = PAUSE;
            break;
        }
        rc = nb_ledger_read(e->view, e->arrivals[e->arrival].number, &entry, error);
        if (rc == 0)
            rc = dump_document(e, &entry, error);
    }
    nb_entry_deinit(&entry);
    return rc == NB_NOT_FOUND ? damaged(error, "a ledger entry is missing") : rc;
}
