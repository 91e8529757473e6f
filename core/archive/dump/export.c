/* SPDX-License-Identifier: Apache-2.0
 *
 * Export: one consistent state of a model, record by record, from a snapshot of the store. All data
 * are read from the store, so the model need not be loaded.
 *
 * It runs in short steps. Between two steps the writer may end the snapshot (lease.h), so that a
 * slow reader does not block it. The export then continues with a later snapshot if no document of
 * the model has changed in between. The ledger is read twice, because the header must say whether
 * all words have texts. Documents come in the order in which they were first learned. The function
 * of a phase returns 0 when the phase is complete, a number above 0 when the step is over before
 * that, or a code.
 */
#include "core/archive/dump/export.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/dump/dump.h"
#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/system.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/features_coding.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_features.h"
#include "core/ledger/record.h"
#include "core/model/checkpoint.h"
#include "core/model/registry.h"
#include "core/model/state.h"
#include "core/store/lease.h"

/* A current document: the number of its entry, and of the entry that learned it first. */
struct arrival {
    uint64_t first, number;
};

enum phase { SURVEY, SORT, HEADER, WORDS, DOCUMENTS, END, DONE };

struct nb_export {
    struct nb_engine *engine;
    struct nb_live *live; /* referenced */
    struct nb_lease *lease;
    uint64_t deadline; /* nb_clock_monotonic; for all snapshots together */
    bool is_lost;      /* the snapshot was lost, and a later one has another state */
    enum phase phase;
    uint64_t next;  /* number of the entry, or the row, at which a walk continues */
    size_t arrival; /* index of the next document */
    /* Valid during a step. */
    const struct nb_view *view;
    const struct nb_dump_sink *sink;
    uint64_t over;  /* when the step ends, on nb_clock_monotonic, ... */
    bool has_moved; /* ... provided that it has processed an entry */
    /* Valid during the whole export. */
    struct nb_state_record state;
    struct nb_features_coder *coder;
    struct arrival *arrivals; /* owned */
    size_t arrival_count, arrival_room;
    bool has_texts;
    char **labels; /* owned, by number */
    size_t label_count, label_room;
    struct nb_rows bag;
    uint64_t decoded;    /* number of the entry whose features the coder has decoded */
    const uint64_t *ids; /* these features; owned by the coder */
    const struct nb_string *texts;
    uint32_t *numbers;               /* owned: number of each row in the dump; NB_NO_ROW: none */
    uint32_t *row_list, *count_list; /* owned; rows and counts of a document */
    size_t row_room, count_room;
    struct nb_dump_totals totals;
};

struct reading {
    struct nb_stack_weights *weights;
    bool found; /* the store has weights */
};

static int read_weights(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct reading *reading = user;
    int rc =
        nb_stack_weights_read_record(reading->weights, (uint32_t)nb_store_key_tail(key), value);
    reading->found = true;
    return rc == 0 ? 0 : nb_error_set(error, rc, "the weights of the stack do not read back");
}

/* Writes the weights of the stack in the form of a dump; nothing if the model has learned none. */
static int dump_weights(const struct nb_export *e, const struct nb_settings *settings,
                        struct nb_buffer *out, struct nb_error *error)
{
    struct nb_stack_settings stack;
    struct nb_store_key key = nb_store_key_model(e->live->number);
    struct nb_packer p = {.out = out};
    nb_stack_settings_of(settings, &stack);
    struct nb_stack_weights *weights = nb_stack_weights_new(&stack);
    if (weights == NULL)
        return nb_error_no_memory(error);
    struct reading reading = {.weights = weights};
    int rc = nb_store_scan(e->view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), key.length,
                           read_weights, &reading, error);
    if (rc == 0)
        rc = nb_twin_log_load(e->view, e->live->number, &e->state.twin, weights, NULL, error);
    /* Documents without a label teach nothing: if there are no others, the stored weights are the
     * start values. */
    const struct nb_weights *order = nb_stack_weights_order(weights);
    bool has_learned = e->state.totals.current > e->state.totals.unlabelled;
    for (uint32_t range = 0; range < order->ranges; range++)
        has_learned = has_learned || !nb_weights_is_zero(order, range);
    if (rc == 0 && reading.found && has_learned)
        nb_stack_weights_write(weights, &p);
    nb_stack_weights_free(&weights);
    if (rc == 0 && p.code != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

/* Writes the header (settings, labels, weights) in one step. */
static int dump_header(struct nb_export *e, struct nb_error *error)
{
    struct nb_string value;
    struct nb_model_record record;
    struct nb_dump_header header = {.label_count = e->label_count,
                                    .labels = (const char *const *)e->labels,
                                    .has_texts = e->has_texts};
    struct nb_buffer weights = {0};
    memcpy(header.key, e->live->id_key->bytes, sizeof header.key);
    int rc = nb_store_get(e->view, NB_TABLE_MODELS, nb_live_name(e->live), &value, error);
    if (rc == 0)
        rc = nb_model_record_read(&record, value, error);
    if (rc == 0)
        rc = nb_settings_read(&header.settings, record.settings, error);
    header.settings.is_challenger = false; /* a copy or a dump of one follows no model */
    if (rc != 0)
        return rc == NB_NOT_FOUND
                   ? nb_error_set(error, NB_CORRUPT,
                                  "the store is damaged: a model's record is missing")
                   : rc;
    rc = dump_weights(e, &header.settings, &weights, error);
    header.stack = (struct nb_string){weights.bytes, weights.length};
    if (rc == 0)
        rc = e->sink->header(e->sink->user, &header);
    nb_settings_deinit(&header.settings);
    nb_buffer_deinit(&weights);
    return rc;
}

enum { PAUSE = 1 }; /* the step is over; the next one continues the walk */

static int damaged(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s", what);
}

/* Whether the step is over; called before each entry. False at the first entry of a step, so that
 * each step makes progress. */
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
    e->arrivals[e->arrival_count++] = (struct arrival){
        .first = c->first != 0 ? c->first : entry->number, .number = entry->number};
    return 0;
}

static int by_arrival(const void *a, const void *b)
{
    uint64_t x = ((const struct arrival *)a)->first;
    uint64_t y = ((const struct arrival *)b)->first;
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

/* Reads the model's state and labels, and lists the current documents. */
static int survey_all(struct nb_export *e, struct nb_error *error)
{
    int rc = e->next == 0 ? begin_survey(e, error) : 0;
    return rc != 0 ? rc : nb_ledger_walk(e->view, e->live->number, e->next, survey, e, error);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Renumbers rows, because a dump has no dropped rows. Their order stays the same, because sums over
 * all words are computed in row order and must not change. */
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

static int dump_all_words(struct nb_export *e, struct nb_error *error)
{
    return nb_ledger_walk_runs(e->view, e->live->number, (uint32_t)e->next, dump_words, e, error);
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
                                        .is_reviewed = c->is_reviewed,
                                        .score = c->label == NB_NO_LABEL ? (struct nb_string){"", 0}
                                                                         : c->score};
    static_assert((int)NB_DUMP_NO_LABEL == (int)NB_NO_LABEL, "a dump's numbers are the ledger's");
    assert(c->kind == NB_CHANGE_TRAIN);
    e->totals.documents++;
    return e->sink->document(e->sink->user, &document);
}

static int dump_documents(struct nb_export *e, struct nb_error *error)
{
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

enum {
    STEP_NANOSECONDS = 2000000, /* short, because the writer may have to wait for a step */
    LATER_MOST = 8,             /* snapshots in a row that may be lost before the export fails */
    SECOND = 1000000000,
};

/* ---- phases ---------------------------------------------------------------------------------- */

/* Checks the number of documents and ends the dump. An incomplete dump must not look complete,
 * because people restore models from it. */
static int dump_end(struct nb_export *e, struct nb_error *error)
{
    if (e->totals.documents != e->state.totals.current)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: %" PRIu64 " of %" PRIu64 " documents were found",
                            e->totals.documents, e->state.totals.current);
    return e->sink->end(e->sink->user, &e->totals);
}

/* Runs a step of the present phase. Returns what its function returns. */
static int go_on(struct nb_export *e, struct nb_error *error)
{
    switch (e->phase) {
    case SURVEY:
        return survey_all(e, error);
    case HEADER:
        return dump_header(e, error);
    case WORDS:
        return dump_all_words(e, error);
    case DOCUMENTS:
        return dump_documents(e, error);
    case END:
        return dump_end(e, error);
    case SORT:
    case DONE:
    default:
        return 0;
    }
}

/* ---- a snapshot that was taken back ---------------------------------------------------------- */

static int is_no_document(void *user, struct nb_entry *entry, struct nb_error *error)
{
    (void)user;
    return entry->change.kind == NB_CHANGE_REFIT
               ? 0
               : nb_error_set(error, NB_IO, "the model has changed since the store had to grow");
}

/* Returns NB_IO unless `view` has the documents with which the export began: only refits may have
 * come since then. */
static int check_same(struct nb_export *e, const struct nb_view *view, struct nb_error *error)
{
    struct nb_string value;
    struct nb_model_record record;
    int rc = nb_store_get(view, NB_TABLE_MODELS, nb_live_name(e->live), &value, error);
    if (rc == 0)
        rc = nb_model_record_read(&record, value, error);
    if (rc == NB_NOT_FOUND || (rc == 0 && record.number != e->live->number))
        return nb_error_set(error, NB_IO, "the model was replaced or deleted meanwhile");
    return rc != 0 ? rc
                   : nb_ledger_walk(view, e->live->number, e->state.last + 1, is_no_document, NULL,
                                    error);
}

/* Takes a later snapshot and begins to read it. */
static int enter_later(struct nb_export *e, struct nb_error *error)
{
    uint64_t now = nb_clock_monotonic(), left = e->deadline > now ? e->deadline - now : 0;
    struct nb_lease *later;
    int rc = nb_lease_take(e->engine->store, left / SECOND, &later, error);
    if (rc != 0)
        return rc;
    nb_lease_end(&e->lease);
    e->lease = later;
    rc = nb_lease_enter(e->lease, &e->view, error);
    bool has_begun = e->state.last > 0; /* before the survey any snapshot will do */
    if (rc == 0 && has_begun && (rc = check_same(e, e->view, error)) != 0)
        nb_lease_leave(e->lease);
    return rc;
}

static int enter(struct nb_export *e, struct nb_error *error)
{
    int rc = nb_lease_enter(e->lease, &e->view, error);
    for (int times = 0; rc != 0 && times < LATER_MOST && nb_clock_monotonic() < e->deadline;
         times++)
        rc = enter_later(e, error);
    e->is_lost = rc != 0;
    return rc;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int step(struct nb_export *e, struct nb_error *error)
{
    int rc = enter(e, error);
    if (rc != 0)
        return rc;
    assert(e->sink != NULL && e->phase < DONE);
    e->over = nb_clock_monotonic() + STEP_NANOSECONDS;
    e->has_moved = false;
    e->decoded = 0; /* the coder may refer to an entry of the last step's snapshot */
    rc = go_on(e, error);
    nb_lease_leave(e->lease);
    return rc;
}

int nb_export_next(struct nb_export *export, const struct nb_dump_sink *sink, bool *end,
                   struct nb_error *error)
{
    struct nb_export *e = export;
    struct nb_error why = {0};
    assert(e != NULL && e->phase < DONE && e->live->number != 0);
    e->sink = sink;
    int rc = 0;
    if (e->phase != SORT)
        rc = step(e, &why);
    else if (e->arrival_count > 1) /* without a snapshot: it takes long for millions of them */
        qsort(e->arrivals, e->arrival_count, sizeof *e->arrivals, by_arrival);
    if (rc == 0) {
        e->phase++;
        e->next = 0;
    }
    *end = e->phase == DONE;
    if (rc >= 0)
        return 0;
    return e->is_lost ? nb_error_set(error, rc, "%s", why.text)
                      : nb_live_note(e->live, rc, &why, error);
}

bool nb_export_is_lost(const struct nb_export *export)
{
    return export->is_lost;
}

int nb_export_begin(struct nb_engine *engine, struct nb_string model, uint64_t seconds,
                    struct nb_export **export, struct nb_error *error)
{
    struct nb_error why = {0};
    struct nb_export *e = calloc(1, sizeof *e);
    *export = NULL;
    if (e == NULL)
        return nb_error_no_memory(error);
    e->engine = engine;
    e->deadline = nb_clock_monotonic() + seconds * SECOND;
    e->has_texts = true;
    e->coder = nb_features_coder_new();
    int rc = e->coder != NULL ? nb_registry_find(engine, model, false, &e->live, error)
                              : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_live_note(e->live, nb_live_check(e->live, &why), &why, error);
    if (rc == 0)
        rc = nb_lease_take(engine->store, seconds, &e->lease, error);
    if (rc != 0)
        nb_export_end(&e);
    *export = e;
    return rc;
}

void nb_export_end(struct nb_export **export)
{
    struct nb_export *e = *export;
    *export = NULL;
    if (e == NULL)
        return;
    nb_strings_free(e->labels, e->label_count);
    free(e->arrivals);
    free(e->numbers);
    free(e->row_list);
    free(e->count_list);
    nb_rows_deinit(&e->bag);
    nb_features_coder_free(&e->coder);
    nb_lease_end(&e->lease);
    if (e->live != NULL)
        nb_registry_release(e->engine, &e->live);
    free(e);
}

int nb_engine_export(struct nb_engine *engine, struct nb_string model,
                     const struct nb_dump_sink *sink, struct nb_error *error)
{
    enum { SECONDS_MOST = 3600 };
    struct nb_export *export;
    bool end = false;
    int rc = nb_export_begin(engine, model, SECONDS_MOST, &export, error);
    while (rc == 0 && !end)
        rc = nb_export_next(export, sink, &end, error);
    nb_export_end(&export);
    return rc;
}
