/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/merge/merge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/label_set.h"
#include "core/ledger/ledger.h"
#include "core/model/apply.h"
#include "core/model/checkpoint.h"
#include "core/model/live.h"
#include "core/model/model_transaction.h"
#include "core/model/parents.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/writer/model_changes.h"
#include "core/writer/writer.h"

enum {
    STEP_DOCUMENTS = 500, /* documents relabelled in one commit */
    STEP_ENTRIES = 50000, /* entries examined in one snapshot */
};

/* ---- new labels of found documents ----------------------------------------------------------- */

/* Reads the ids of a step's documents; an id stays empty if the entry is gone. */
static int read_ids(struct nb_engine *engine, const uint64_t *numbers, size_t count,
                    struct nb_buffer *ids, struct nb_error *error)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct nb_string id = {"", 0};
        rc = nb_ledger_read(&view, numbers[i], &entry, error);
        if (rc == 0 && entry.change.kind == NB_CHANGE_TRAIN)
            id = entry.change.id;
        if (rc == 0 && nb_buffer_append(&ids[i], id.bytes, id.length) != 0)
            rc = nb_error_no_memory(error);
        rc = rc == NB_NOT_FOUND ? 0 : rc;
    }
    nb_entry_deinit(&entry);
    nb_store_snapshot_end(&view);
    return rc;
}

/* Makes a batch while no snapshot is open, because the writer may wait for the end of a
 * snapshot. */
static int relabel_step(struct nb_engine *engine, const struct nb_relabelling *what, size_t from,
                        size_t count, uint64_t *changed, struct nb_error *error)
{
    struct nb_buffer ids[STEP_DOCUMENTS] = {{0}}; /* may have NUL bytes */
    struct nb_batch *batch = NULL;
    int rc = nb_batch_new(engine, what->model, false, &batch, error);
    if (rc == 0)
        rc = read_ids(engine, what->numbers + from, count, ids, error);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        uint32_t place = what->places != NULL ? what->places[from + i] : 0;
        assert(what->labels[place].length > 0);
        if (ids[i].length > 0)
            rc = nb_batch_label_entry(batch, nb_buffer_string(&ids[i]), what->numbers[from + i],
                                      what->labels[place], what->source, error);
    }
    if (rc == 0 && nb_batch_size(batch) > 0) {
        nb_engine_apply(engine, batch);
        rc = nb_batch_count_changed(batch, changed, error);
    }
    nb_batch_free(&batch);
    for (size_t i = 0; i < count; i++)
        nb_buffer_deinit(&ids[i]);
    return rc;
}

int nb_relabel(struct nb_engine *engine, const struct nb_relabelling *what,
               bool (*stop)(void *user), void *user, uint64_t *changed, struct nb_error *error)
{
    int rc = 0;
    for (size_t from = 0; rc == 0 && from < what->count; from += STEP_DOCUMENTS) {
        size_t left = what->count - from;
        rc = nb_step_check(stop, user, error);
        if (rc == 0)
            rc = relabel_step(engine, what, from, left < STEP_DOCUMENTS ? left : STEP_DOCUMENTS,
                              changed, error);
    }
    return rc;
}

/* ---- merging --------------------------------------------------------------------------------- */

struct merging {
    struct nb_engine *engine;
    const struct nb_merge_options *options;
    struct nb_live *live;
    uint32_t from;    /* number of the label; not set if documents have several labels */
    bool are_several; /* documents have sets of labels: `from` is replaced in all of them */
    size_t count;     /* documents of the present step */
    uint64_t numbers[STEP_DOCUMENTS];
    uint32_t sets[STEP_DOCUMENTS];
};

/* Whether a document with this label number has the label. */
static bool has_from(const struct merging *m, uint32_t label)
{
    if (!m->are_several)
        return label == m->from;
    nb_model_read_lock(m->live->counts);
    bool has = label < nb_model_label_count(m->live->counts) &&
               nb_label_set_has(nb_model_label_name(m->live->counts, label), m->options->from);
    nb_model_unlock(m->live->counts);
    return has;
}

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct merging *m = user;
    (void)error;
    if (m->count == STEP_DOCUMENTS)
        return NB_STEP_ENDS;
    if (has_from(m, entry->change.label)) {
        m->sets[m->count] = entry->change.label;
        m->numbers[m->count++] = entry->number;
    }
    return 0;
}

/* Relabels the documents of a step, each with its own set. */
static int replace_in_sets(struct merging *m, uint64_t *merged, struct nb_error *error)
{
    const struct nb_merge_options *w = m->options;
    struct nb_buffer *texts = calloc(m->count + 1, sizeof *texts);
    struct nb_string *labels = calloc(m->count + 1, sizeof *labels);
    uint32_t *places = calloc(m->count + 1, sizeof *places);
    int rc = texts != NULL && labels != NULL && places != NULL ? 0 : nb_error_no_memory(error);
    for (size_t i = 0; rc == 0 && i < m->count; i++) {
        nb_model_read_lock(m->live->counts);
        struct nb_string set = nb_model_label_name(m->live->counts, m->sets[i]);
        nb_model_unlock(m->live->counts);
        rc = nb_label_set_replace(set, w->from, w->into, &texts[i], error);
        labels[i] = nb_buffer_string(&texts[i]);
        places[i] = (uint32_t)i;
    }
    const struct nb_relabelling what = {.model = w->model,
                                        .source = w->source,
                                        .numbers = m->numbers,
                                        .count = m->count,
                                        .labels = labels,
                                        .places = places};
    if (rc == 0)
        rc = nb_relabel(m->engine, &what, NULL, NULL, merged, error);
    for (size_t i = 0; texts != NULL && i < m->count; i++)
        nb_buffer_deinit(&texts[i]);
    free(texts);
    free(labels);
    free(places);
    return rc;
}

static int run_step(struct merging *m, struct nb_ledger_steps *steps, uint64_t *merged,
                    struct nb_error *error)
{
    const struct nb_merge_options *w = m->options;
    struct nb_error why;
    m->count = 0;
    int rc = nb_step_check(w->stop, w->user, error);
    if (rc != 0)
        return rc;
    rc = nb_ledger_step(steps, &why);
    if (rc != 0)
        return nb_live_note(m->live, rc, &why, error);
    if (m->are_several)
        return replace_in_sets(m, merged, error);
    const struct nb_relabelling what = {.model = w->model,
                                        .source = w->source,
                                        .numbers = m->numbers,
                                        .count = m->count,
                                        .labels = &w->into};
    return nb_relabel(m->engine, &what, NULL, NULL, merged, error);
}

static int find_label(const struct merging *m, struct nb_string name, uint32_t *label,
                      struct nb_error *error)
{
    nb_model_read_lock(m->live->counts);
    int rc = nb_live_label(m->live, name, label, error);
    nb_model_unlock(m->live->counts);
    return rc;
}

/* Whether some document has the label, one of several. */
static int count_members(const struct merging *m, struct nb_string name, uint64_t *documents,
                         struct nb_error *error)
{
    struct nb_multilabel_labels labels;
    *documents = 0;
    struct nb_published *published = nb_live_settings(m->live);
    nb_model_read_lock(m->live->counts);
    int rc = nb_multilabel_labels(published->multilabel, m->live->counts, &labels);
    for (uint32_t l = 0; rc == 0 && l < labels.count; l++)
        if (nb_string_equals(name, labels.names[l]))
            *documents = labels.documents[l];
    nb_model_unlock(m->live->counts);
    nb_published_release(&published);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

enum { LABEL_ROOM = 65 }; /* bytes of a label, with its NUL */

/* ---- what the settings say of labels --------------------------------------------------------- */

static bool differ(double a, double b)
{
    return a < b || a > b;
}

static bool values_differ(const struct nb_smoothing *by, const char *from, const char *to)
{
    for (size_t i = 0; i < by->value_count; i++)
        if (differ(nb_smoothing_of_label(by, i, from), nb_smoothing_of_label(by, i, to)))
            return true;
    return false;
}

static bool thresholds_differ(const struct nb_settings *s, const char *from, const char *to)
{
    const struct nb_label_threshold *a = nb_settings_threshold(s, from);
    const struct nb_label_threshold *b = nb_settings_threshold(s, to);
    if (a == NULL || b == NULL)
        return a != b;
    return a->kind != b->kind || differ(a->number, b->number) || differ(a->cost_fp, b->cost_fp) ||
           differ(a->cost_fn, b->cost_fn);
}

/* The setting that has other numbers for one label than for another; NULL: none has. */
static const char *other_numbers(const struct nb_settings *s, const char *from, const char *to)
{
    const struct nb_smoothing *by = &s->smoothing_by;
    if (s->prior == NB_PRIOR_GIVEN &&
        differ(nb_label_weights_find(s->weights, s->weight_count, from),
               nb_label_weights_find(s->weights, s->weight_count, to)))
        return "prior";
    if (s->prior == NB_PRIOR_DIRICHLET &&
        differ(nb_settings_label_parameter(s, from), nb_settings_label_parameter(s, to)))
        return "prior";
    if (by->kind == NB_SMOOTHING_LABELS &&
        differ(nb_label_weights_find(by->labels, by->label_count, from),
               nb_label_weights_find(by->labels, by->label_count, to)))
        return "smoothing";
    if (by->kind == NB_SMOOTHING_VALUES && values_differ(by, from, to))
        return "smoothing";
    return thresholds_differ(s, from, to) ? "thresholds" : NULL;
}

/* Settings give numbers to labels by name. Checks that both names have the same: others would
 * change probabilities and decisions. */
static int check_numbers(struct nb_live *live, struct nb_string old, struct nb_string new,
                         struct nb_error *error)
{
    char from[LABEL_ROOM], to[LABEL_ROOM];
    (void)snprintf(from, sizeof from, "%.*s", (int)old.length, old.bytes);
    (void)snprintf(to, sizeof to, "%.*s", (int)new.length, new.bytes);
    struct nb_published *published = nb_live_settings(live);
    const char *other = other_numbers(&published->settings, from, to);
    nb_published_release(&published);
    if (other == NULL)
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "the setting `%s` of the model '%s' has another number for '%s' than for "
                        "'%s': put the same for both first, so that verdicts stay as they are",
                        other, live->name, to, from);
}

/* Checks the labels of a model whose documents have several. */
static int check_members(const struct merging *m, struct nb_error *error)
{
    const struct nb_merge_options *w = m->options;
    uint64_t of_from, of_into = 0;
    int rc = count_members(m, w->from, &of_from, error);
    if (rc == 0 && w->into.length > 0)
        rc = count_members(m, w->into, &of_into, error);
    if (rc != 0)
        return rc;
    if (of_from == 0)
        return nb_error_set(error, NB_NOT_FOUND, "model '%s' has no label '%.*s'", m->live->name,
                            (int)w->from.length, w->from.bytes);
    if (w->into.length > 0 && of_into == 0 && !w->is_new)
        return nb_error_set(error, NB_NOT_FOUND, "model '%s' has no label '%.*s'", m->live->name,
                            (int)w->into.length, w->into.bytes);
    if (of_into > 0 && w->is_new)
        return nb_error_set(error, NB_CONFLICT, "model '%s' has a label '%.*s' already",
                            m->live->name, (int)w->into.length, w->into.bytes);
    return w->is_new ? check_numbers(m->live, w->from, w->into, error) : 0;
}

static int begin(struct merging *m, struct nb_error *error)
{
    const struct nb_merge_options *w = m->options;
    uint32_t into;
    if (nb_string_same(w->from, w->into))
        return nb_error_set(error, NB_UNUSABLE, "a label is not merged with itself");
    int rc = nb_check_source(w->source, error);
    if (rc == 0)
        rc = nb_registry_acquire(m->engine, w->model, false, &m->live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(m->live);
    m->are_several = nb_published_is_several(published);
    nb_published_release(&published);
    if (m->are_several)
        return check_members(m, error);
    assert(w->into.length > 0 && !w->is_new);
    rc = find_label(m, w->from, &m->from, error);
    return rc != 0 ? rc : find_label(m, w->into, &into, error);
}

int nb_label_merge(struct nb_engine *engine, const struct nb_merge_options *options,
                   uint64_t *merged, struct nb_error *error)
{
    struct merging m = {.engine = engine, .options = options};
    *merged = 0;
    int rc = nb_relay_catch_up(engine, options->model, true, error);
    if (rc == 0)
        rc = begin(&m, error);
    struct nb_ledger_steps steps = {.store = engine->store,
                                    .model = m.live != NULL ? m.live->number : 0,
                                    .only = NB_LEDGER_LABELLED,
                                    .most = STEP_ENTRIES,
                                    .visit = take,
                                    .user = &m};
    while (rc == 0 && !steps.is_done)
        rc = run_step(&m, &steps, merged, error);
    nb_registry_release(engine, &m.live);
    return rc;
}

struct renaming {
    struct nb_string model, from, to, source;
};

static int write_rename(struct nb_engine *engine, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    struct nb_model_entry *task = argument;
    struct nb_live *live = task->live;
    struct nb_label_record record = {
        .name = task->change.label_name,
        .documents = nb_model_documents(live->counts, task->change.label),
        .tokens = nb_model_occurrences(live->counts, task->change.label, NB_ALL_TOKENS)};
    struct nb_store_key key = nb_store_key_number(live->number, task->change.label);
    struct nb_buffer stored = {0};
    assert(task->change.label < nb_model_label_count(live->counts));
    int rc = nb_model_entry_append(engine, view, task, error);
    if (rc == 0 && nb_label_write(&record, &stored) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_store_put(view, NB_TABLE_LABELS, nb_store_key_string(&key),
                          nb_buffer_string(&stored), error);
    nb_buffer_deinit(&stored);
    return rc != 0 ? rc : nb_model_entry_touch(engine, view, task, error);
}

static int check_renaming(const struct renaming *r, struct nb_live *live, uint32_t *label,
                          struct nb_error *error)
{
    int rc = nb_live_label(live, r->from, label, error);
    if (rc != 0)
        return rc;
    uint32_t there = nb_model_find_label(live->counts, r->to);
    if (there == UINT32_MAX)
        return 0;
    bool is_gone = nb_model_documents(live->counts, there) == 0;
    return nb_error_set(error, NB_CONFLICT, "model '%s' %s a label '%.*s' already%s", live->name,
                        is_gone ? "had" : "has", (int)r->to.length, r->to.bytes,
                        is_gone ? ": merge into it" : "");
}

/* Refuses models with relatives: labels of parent and child correspond by name. */
static int check_relatives(struct nb_engine *engine, const struct nb_live *live,
                           struct nb_error *error)
{
    if (live->parent != NULL)
        return nb_error_set(error, NB_CONFLICT,
                            "the model '%s' has the parent '%s', whose labels have the same names: "
                            "take the parent away (\"parent\": null) to rename one",
                            live->name, live->parent);
    return nb_parents_check_childless(engine, live, "its labels cannot be renamed", error);
}

static int rename_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct renaming *r = argument;
    struct nb_live *live;
    struct nb_model_entry task = {
        .change = {.kind = NB_CHANGE_RENAME_LABEL, .source = r->source, .label_name = r->to}};
    static const struct nb_applying how;
    int rc = nb_registry_acquire(engine, r->model, false, &live, error);
    if (rc != 0)
        return rc;
    task.live = live;
    task.totals = live->checkpoint.totals;
    rc = check_renaming(r, live, &task.change.label, error);
    if (rc == 0)
        rc = check_relatives(engine, live, error);
    if (rc == 0)
        rc = check_numbers(live, r->from, r->to, error);
    /* Reserves the memory for the renaming before the store is changed. */
    if (rc == 0 && nb_model_reserve_rename(live->counts, r->to) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0) {
        rc = nb_transaction(engine, 0, write_rename, &task, error);
        if (rc == 0)
            nb_model_entry_note(engine, &task);
        else
            live->checkpoint.totals = task.totals;
    }
    if (rc == 0) {
        rc = nb_apply(live, &task.change, NULL, &how, NULL, error);
        /* The store has the new name, but memory does not: only a restart, which loads the model,
         * helps. */
        if (rc != 0)
            nb_live_set_damaged(live, error);
    }
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_rename_label(struct nb_engine *engine, struct nb_string model, struct nb_string from,
                           struct nb_string to, struct nb_string source, struct nb_error *error)
{
    struct renaming r = {.model = model, .from = from, .to = to, .source = source};
    int rc = nb_check_label(to, error);
    if (rc == 0)
        rc = nb_check_source(source, error);
    if (rc == 0 && nb_relay_is_wanted(engine)) {
        struct nb_relayed_change relayed_change = {.kind = NB_RELAYED_CHANGE_RENAME_LABEL,
                                                   .model = model,
                                                   .source = source,
                                                   .from = from,
                                                   .to = to};
        rc = nb_check_label(from, error);
        return rc != 0 ? rc : nb_relay_ask(engine, &relayed_change, NULL, error);
    }
    return rc != 0 ? rc : nb_writer_run(engine, rename_task, &r, error);
}
