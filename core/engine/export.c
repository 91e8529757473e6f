/* SPDX-License-Identifier: Apache-2.0
 *
 * Export: one consistent state of a model, record by record, from a snapshot of the store. Nothing
 * is read from memory, so that no model is loaded for it.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/pack.h"
#include "core/engine/engine.h"
#include "core/live/registry.h"
#include "core/store/features.h"
#include "core/store/ledger_features.h"
#include "core/store/rows.h"

/* A living document: its entry, and the one that learned it first. */
struct arrival {
    uint64_t first, number;
};

/* How often an export begins again because the store had to grow. Each time the map has doubled. */
enum { TIMES_MOST = 8 };

struct dumping {
    const struct nb_view *view;
    const struct nb_live *live;
    const struct nb_dump_sink *sink;
    struct nb_state_record state;
    struct nb_features_coder *coder;
    struct arrival *arrivals; /* owned */
    size_t arrival_count, arrival_room;
    bool has_texts;
    char **labels; /* owned, by number */
    size_t label_count, label_room;
    struct nb_rows bag;
    uint64_t decoded;    /* entry whose features the coder has */
    const uint64_t *ids; /* the coder's */
    const struct nb_string *texts;
    uint32_t *numbers; /* owned: of each row its number in the dump; NB_NO_ROW: it has none */
    uint32_t *row_list, *count_list; /* of a document; owned */
    size_t row_room, count_room;
    struct nb_dump_totals totals;
    bool has_to_end; /* the store wants to grow */
};

static int damaged(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s", what);
}

/* An open snapshot keeps the store from growing. So an export ends when the store has to grow. */
static int keep_going(struct dumping *d, struct nb_error *error)
{
    d->has_to_end = nb_store_wanted(d->view);
    if (!d->has_to_end)
        return 0;
    return nb_error_set(error, NB_IO,
                        "the store had to grow while the model was exported: ask again");
}

/* ---- what there is --------------------------------------------------------------------------- */

static int survey(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct dumping *d = user;
    const struct nb_change *c = &entry->change;
    bool living;
    if (c->new_count > 0 && !nb_features_have_texts(c->features))
        d->has_texts = false;
    int rc = keep_going(d, error);
    if (rc == 0)
        rc = nb_ledger_is_living(d->view, entry, &living, error);
    if (rc != 0 || !living)
        return rc;
    if (nb_array_reserve(&d->arrivals, &d->arrival_room, d->arrival_count + 1,
                         sizeof *d->arrivals) != 0)
        return nb_error_no_memory(error);
    d->arrivals[d->arrival_count++] = (struct arrival){
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
    struct dumping *d = user;
    struct nb_label_record record;
    int rc = nb_label_read(&record, value, error);
    if (rc != 0)
        return rc;
    if (nb_store_key_tail(key) != d->label_count)
        return damaged(error, "labels out of order");
    if (nb_array_reserve(&d->labels, &d->label_room, d->label_count + 1, sizeof *d->labels) != 0)
        return nb_error_no_memory(error);
    d->labels[d->label_count] = nb_string_copy(record.name);
    return d->labels[d->label_count++] == NULL ? nb_error_no_memory(error) : 0;
}

static int read_state(struct dumping *d, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(d->live->number);
    struct nb_string value;
    int rc = nb_store_get(d->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&d->state, value, error);
    return rc == NB_NOT_FOUND ? damaged(error, "a model's state is missing") : rc;
}

/* ---- header ---------------------------------------------------------------------------------- */

struct reading {
    struct nb_stack_weights *weights;
    bool found; /* some are stored */
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

/* What the stack has learned, as a dump has it; nothing where no weights are stored. */
static int dump_weights(const struct dumping *d, const struct nb_settings *settings,
                        struct nb_buffer *out, struct nb_error *error)
{
    struct nb_stack_settings stack;
    struct nb_store_key key = nb_store_key_model(d->live->number);
    struct nb_packer p = {.out = out};
    nb_stack_settings_of(settings, &stack);
    struct nb_stack_weights *weights = nb_stack_weights_new(&stack);
    if (weights == NULL)
        return nb_error_no_memory(error);
    struct reading reading = {.weights = weights};
    int rc = nb_store_scan(d->view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), key.length,
                           read_weights, &reading, error);
    if (rc == 0 && reading.found)
        nb_stack_weights_write(weights, &p);
    nb_stack_weights_free(&weights);
    if (rc == 0 && p.code != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

static int dump_header(struct dumping *d, struct nb_error *error)
{
    struct nb_string value;
    struct nb_model_record record;
    struct nb_dump_header header = {.label_count = d->label_count,
                                    .labels = (const char *const *)d->labels,
                                    .has_texts = d->has_texts};
    struct nb_buffer weights = {0};
    memcpy(header.key, d->live->id_key->bytes, sizeof header.key);
    int rc = nb_store_get(d->view, NB_TABLE_MODELS, nb_live_name(d->live), &value, error);
    if (rc == 0)
        rc = nb_model_record_read(&record, value, error);
    if (rc == 0)
        rc = nb_settings_read(&header.settings, record.settings, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? damaged(error, "a model's record is missing") : rc;
    rc = dump_weights(d, &header.settings, &weights, error);
    header.stack = (struct nb_string){weights.bytes, weights.length};
    if (rc == 0)
        rc = d->sink->header(d->sink->user, &header);
    nb_settings_deinit(&header.settings);
    nb_buffer_deinit(&weights);
    return rc;
}

/* ---- words and documents --------------------------------------------------------------------- */

/* A dump has no dropped rows: they are numbered anew, in the same order, because sums over all
 * words go in the order of the rows. */
static int number_rows(struct dumping *d, const struct nb_ledger_run *run, struct nb_error *error)
{
    if ((uint64_t)run->first_row + run->count > d->state.rows)
        return damaged(error, "a feature has an impossible row");
    for (size_t i = 0; i < run->count; i++) {
        if (d->numbers[run->first_row + i] != NB_NO_ROW)
            return damaged(error, "a feature is in the ledger twice");
        d->numbers[run->first_row + i] = (uint32_t)d->totals.features++;
    }
    return 0;
}

static int dump_words(void *user, const struct nb_ledger_run *run, struct nb_error *error)
{
    struct dumping *d = user;
    const struct nb_change *c = &run->entry->change;
    struct nb_dump_words words = {.first_row = (uint32_t)d->totals.features, .count = run->count};
    int rc = keep_going(d, error);
    if (rc == 0)
        rc = number_rows(d, run, error);
    if (rc == 0 && d->decoded != run->entry->number)
        rc = nb_features_decode(d->coder, c->features, c->new_count, d->live->id_key, &d->ids,
                                &d->texts, error);
    if (rc != 0)
        return rc;
    d->decoded = run->entry->number;
    words.ids = d->ids + run->index;
    words.texts = d->texts == NULL ? NULL : d->texts + run->index;
    return d->sink->words(d->sink->user, &words);
}

static int make_numbers(struct dumping *d, struct nb_error *error)
{
    d->numbers = malloc(((size_t)d->state.rows + 1) * sizeof *d->numbers);
    if (d->numbers == NULL)
        return nb_error_no_memory(error);
    for (uint32_t i = 0; i < d->state.rows; i++)
        d->numbers[i] = NB_NO_ROW;
    return 0;
}

static int list_bag(struct dumping *d, const struct nb_change *c, struct nb_error *error)
{
    int rc = nb_bag_decode(c->bag, d->state.rows, &d->bag, error);
    if (rc != 0)
        return rc;
    if (nb_array_reserve(&d->row_list, &d->row_room, d->bag.size + 1, sizeof *d->row_list) != 0 ||
        nb_array_reserve(&d->count_list, &d->count_room, d->bag.size + 1, sizeof *d->count_list) !=
            0)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < d->bag.size; i++) {
        d->bag.counts[i].row = d->numbers[d->bag.counts[i].row];
        if (d->bag.counts[i].row == NB_NO_ROW)
            return damaged(error, "features are missing in the ledger");
    }
    nb_rows_sort(&d->bag);
    for (size_t i = 0; i < d->bag.size; i++) {
        d->row_list[i] = d->bag.counts[i].row;
        d->count_list[i] = d->bag.counts[i].count;
        d->totals.occurrences += d->bag.counts[i].count;
    }
    return 0;
}

static int dump_document(struct dumping *d, const struct nb_entry *entry, struct nb_error *error)
{
    const struct nb_change *c = &entry->change;
    int rc = list_bag(d, c, error);
    if (rc != 0)
        return rc;
    struct nb_dump_document document = {.id = c->id,
                                        .label = c->label,
                                        .learned = c->time,
                                        .source = c->source,
                                        .tokens = c->tokens,
                                        .rows = d->row_list,
                                        .counts = d->count_list,
                                        .size = d->bag.size,
                                        .score = c->score};
    assert(c->kind == NB_CHANGE_TRAIN);
    d->totals.documents++;
    return d->sink->document(d->sink->user, &document);
}

static int dump_documents(struct dumping *d, struct nb_error *error)
{
    struct nb_entry entry = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < d->arrival_count; i++) {
        rc = keep_going(d, error);
        if (rc == 0)
            rc = nb_ledger_read(d->view, d->arrivals[i].number, &entry, error);
        if (rc == 0)
            rc = dump_document(d, &entry, error);
    }
    nb_entry_deinit(&entry);
    return rc == NB_NOT_FOUND ? damaged(error, "a ledger entry is missing") : rc;
}

/* Nothing may be missing: a dump is what people restore from. */
static int dump_end(struct dumping *d, struct nb_error *error)
{
    if (d->totals.documents != d->state.totals.living)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: %" PRIu64 " of %" PRIu64 " documents were found",
                            d->totals.documents, d->state.totals.living);
    return d->sink->end(d->sink->user, &d->totals);
}

static int dump_all(struct dumping *d, struct nb_error *error)
{
    uint32_t model = d->live->number;
    struct nb_store_key key = nb_store_key_model(model);
    assert(model != 0 && d->coder != NULL);
    int rc = read_state(d, error);
    if (rc == 0)
        rc = nb_store_scan(d->view, NB_TABLE_LABELS, nb_store_key_string(&key), key.length,
                           read_label, d, error);
    if (rc == 0)
        rc = nb_ledger_walk(d->view, model, 0, survey, d, error);
    if (d->arrival_count > 1)
        qsort(d->arrivals, d->arrival_count, sizeof *d->arrivals, by_arrival);
    if (rc == 0)
        rc = make_numbers(d, error);
    if (rc == 0)
        rc = dump_header(d, error);
    if (rc == 0)
        rc = nb_ledger_walk_runs(d->view, model, dump_words, d, error);
    if (rc == 0)
        rc = dump_documents(d, error);
    return rc != 0 ? rc : dump_end(d, error);
}

static void dumping_deinit(struct dumping *d)
{
    for (size_t i = 0; i < d->label_count; i++)
        free(d->labels[i]);
    free(d->labels);
    free(d->arrivals);
    free(d->numbers);
    free(d->row_list);
    free(d->count_list);
    nb_rows_deinit(&d->bag);
    nb_features_coder_free(&d->coder);
}

/* Sets *again when the store had to grow meanwhile. */
static int dump_once(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_dump_sink *sink, bool *again, struct nb_error *error)
{
    struct nb_view view;
    struct dumping d = {.view = &view,
                        .live = live,
                        .sink = sink,
                        .has_texts = true,
                        .coder = nb_features_coder_new()};
    int rc = d.coder == NULL ? nb_error_no_memory(error)
                             : nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        rc = dump_all(&d, error);
        nb_store_snapshot_end(&view);
    }
    *again = rc != 0 && d.has_to_end;
    dumping_deinit(&d);
    return rc;
}

int nb_engine_export(struct nb_engine *engine, struct nb_string model,
                     const struct nb_dump_sink *sink, struct nb_error *error)
{
    struct nb_live *live;
    struct nb_error why = {0};
    bool again = true;
    int rc = nb_registry_find(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_live_check(live, &why);
    for (int times = 0; rc == 0 && again && times < TIMES_MOST; times++) {
        why.code = 0;
        rc = dump_once(engine, live, sink, &again, &why);
        if (again && times + 1 < TIMES_MOST)
            rc = 0;
    }
    rc = nb_live_note(live, rc, &why, error);
    nb_registry_release(engine, &live);
    return rc;
}
