/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/history/history_listing.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/string.h"
#include "core/ledger/ledger.h"
#include "core/model/registry.h"
#include "core/writer/remember.h"
#include "core/writer/writer.h"

static int flush(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    (void)argument;
    return nb_remember_flush(engine, true, error);
}

int nb_engine_history_write(struct nb_engine *engine, struct nb_error *error)
{
    return nb_remember_waits(engine) ? nb_writer_run(engine, flush, NULL, error) : 0;
}

int nb_reading_begin(struct nb_reading *reading, struct nb_engine *engine, struct nb_string model,
                     struct nb_error *error)
{
    struct nb_reading *r = reading;
    *r = (struct nb_reading){.engine = engine, .coder = nb_features_coder_new()};
    int rc = r->coder == NULL ? nb_error_no_memory(error)
                              : nb_registry_acquire(engine, model, false, &r->live, error);
    if (rc != 0) {
        nb_features_coder_free(&r->coder);
        return rc;
    }
    (void)nb_engine_history_write(engine, NULL);
    r->limits = nb_remember_limits(r->live);
    return 0;
}

void nb_reading_end(struct nb_reading *reading)
{
    nb_entry_deinit(&reading->entry);
    nb_features_coder_free(&reading->coder);
    nb_registry_release(reading->engine, &reading->live);
}

int nb_reading_label(struct nb_reading *reading, struct nb_string id, bool *is_stored,
                     struct nb_string *label, struct nb_error *error)
{
    struct nb_live *live = reading->live;
    struct nb_error why = {0};
    assert(live != NULL && reading->view.transaction != NULL);
    int rc = nb_ledger_find(&reading->view, live->number, id, &reading->entry, &why);
    *is_stored = rc == 0;
    *label = (struct nb_string){"", 0};
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : nb_live_note(live, rc, &why, error);
    uint32_t number = reading->entry.change.label;
    nb_model_read_lock(live->counts);
    if (number != NB_NO_LABEL && number < nb_model_label_count(live->counts))
        *label = nb_model_label_name(live->counts, number);
    nb_model_unlock(live->counts);
    return 0;
}

int nb_reading_tell(struct nb_reading *reading, int rc, const struct nb_error *why,
                    struct nb_error *error)
{
    assert(rc >= 0 || why != NULL);
    if (rc != NB_CORRUPT)
        return rc >= 0 ? rc : nb_error_set(error, rc, "%s", why->text);
    atomic_store(&reading->live->history.is_damaged, true);
    return nb_error_set(error, NB_DAMAGED,
                        "the history of the model is damaged: it is removed when the next verdict "
                        "is kept");
}

enum {
    LOOKED_AT_MOST = 20000, /* verdicts of one page, some 5 us each */
    SNAPSHOT_LOOKS = 500,   /* verdicts examined in one snapshot */
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* The label that the document has now. */
static int find_label(struct nb_reading *r, struct nb_history_row *row, struct nb_error *error)
{
    return nb_reading_label(r, row->id, &row->is_stored, &row->label, error);
}

static void fill_row(const struct nb_history_record *record, struct nb_history_row *row)
{
    *row = (struct nb_history_row){.id = record->id,
                                   .message_id = record->message_id,
                                   .subject = record->subject,
                                   .sender = record->sender,
                                   .source = record->source,
                                   .time = record->time,
                                   .verdict = record->verdict,
                                   .probability = record->probability,
                                   .known = record->known,
                                   .tokens = record->positions};
}

static bool contains(struct nb_string text, struct nb_string part)
{
    for (size_t i = 0; i + part.length <= text.length; i++) {
        size_t k = 0;
        while (k < part.length &&
               nb_ascii_lower(text.bytes[i + k]) == nb_ascii_lower(part.bytes[k]))
            k++;
        if (k == part.length)
            return true;
    }
    return false;
}

static bool is_or_any(struct nb_string wanted, struct nb_string is)
{
    return wanted.length == 0 || nb_string_same(wanted, is);
}

static bool matches(const struct nb_history_options *w, const struct nb_history_row *row)
{
    bool fits = row->time >= w->from && row->time <= w->until && row->probability >= w->least &&
                row->probability <= w->most;
    return fits && is_or_any(w->verdict, row->verdict) && is_or_any(w->source, row->source) &&
           (w->contains.length == 0 || contains(row->id, w->contains) ||
            contains(row->message_id, w->contains) || contains(row->subject, w->contains) ||
            contains(row->sender, w->contains));
}

static bool has_wanted_label(const struct nb_history_options *w, const struct nb_history_row *row)
{
    if (w->is_labelled == NB_HISTORY_ANY)
        return true;
    return (row->label.length > 0) == (w->is_labelled == NB_HISTORY_LABELLED);
}

/* ---- the list -------------------------------------------------------------------------------- */

struct listing {
    struct nb_reading reading;
    const struct nb_history_options *options;
    int (*visit)(void *user, const struct nb_history_row *row);
    void *user;
    uint64_t before;   /* rows with a smaller number come next */
    uint64_t newest;   /* number of the newest; 0: not known yet */
    uint64_t page_end; /* number of the page's last row; 0: the page is not full */
    size_t rows, looked_at;
    bool is_done; /* no further row */
};

static bool is_wanted(const struct listing *l)
{
    return !l->is_done && (l->page_end == 0 || l->options->is_counted);
}

/* Examines a row, and reports it if it matches. A row older than the limits allow ends the list. */
static int look(struct listing *l, uint64_t number, struct nb_string stored, struct nb_error *error)
{
    struct nb_history_record record;
    struct nb_history_row row;
    int rc = nb_history_read(&record, stored, error);
    if (rc != 0)
        return rc;
    l->is_done =
        record.time < l->reading.limits.since || number + l->reading.limits.records <= l->newest;
    fill_row(&record, &row);
    row.number = number;
    if (l->is_done || !matches(l->options, &row))
        return 0;
    rc = find_label(&l->reading, &row, error);
    if (rc != 0 || !has_wanted_label(l->options, &row))
        return rc;
    size_t end = l->options->skip + l->options->limit;
    if (++l->rows <= l->options->skip || l->rows > end)
        return 0; /* only counted */
    l->page_end = l->rows == end ? number : 0;
    return l->visit(l->user, &row);
}

static int find_newest(struct listing *l, const struct nb_view *view, struct nb_error *error)
{
    struct nb_string stored;
    if (l->newest > 0)
        return 0;
    return nb_history_before(view, l->reading.live->number, UINT64_MAX, &l->newest, &stored, error);
}

static int list_some(struct listing *l, struct nb_error *error)
{
    struct nb_view *view = &l->reading.view;
    struct nb_string stored;
    uint64_t number;
    int rc = nb_store_snapshot(l->reading.engine->store, view, error);
    if (rc != 0)
        return rc;
    rc = find_newest(l, view, error);
    l->is_done = rc == NB_NOT_FOUND;
    for (size_t i = 0; i < SNAPSHOT_LOOKS && rc == 0 && is_wanted(l) && !nb_store_wanted(view);
         i++) {
        rc = l->before <= 1 ? NB_NOT_FOUND
                            : nb_history_before(view, l->reading.live->number, l->before, &number,
                                                &stored, error);
        l->is_done = rc == NB_NOT_FOUND;
        if (rc != 0)
            break;
        l->before = number;
        l->looked_at++;
        rc = look(l, number, stored, error);
    }
    nb_store_snapshot_end(view);
    return l->is_done && rc == NB_NOT_FOUND ? 0 : rc;
}

/* A verdict that no label can give is a typing error. */
static int check_verdict(const struct nb_live *live, struct nb_string verdict,
                         struct nb_error *error)
{
    uint32_t number;
    if (verdict.length == 0)
        return 0;
    nb_model_read_lock(live->counts);
    int rc = nb_live_label(live, verdict, &number, error);
    nb_model_unlock(live->counts);
    return rc == 0 ? 0 : nb_error_about(error, rc, "label_not_found", "verdict");
}

int nb_engine_history(struct nb_engine *engine, struct nb_string model,
                      const struct nb_history_options *options,
                      int (*visit)(void *user, const struct nb_history_row *row), void *user,
                      struct nb_history_rest *rest, struct nb_error *error)
{
    struct nb_error why = {0};
    struct listing l = {.options = options, .visit = visit, .user = user};
    assert(options->limit > 0);
    *rest = (struct nb_history_rest){0};
    int rc = nb_reading_begin(&l.reading, engine, model, error);
    if (rc != 0)
        return rc;
    rc = check_verdict(l.reading.live, options->verdict, error);
    l.before = options->before == 0 ? UINT64_MAX : options->before;
    l.is_done = l.reading.limits.records == 0 || l.reading.live->number == 0;
    while (rc == 0 && is_wanted(&l) && l.looked_at < LOOKED_AT_MOST)
        rc = list_some(&l, &why);
    bool is_last = l.is_done && l.rows <= options->skip + options->limit;
    if (rc == 0)
        *rest = (struct nb_history_rest){is_last          ? 0
                                         : l.page_end > 0 ? l.page_end
                                                          : l.before,
                                         l.rows, l.is_done};
    if (rc != NB_NOT_FOUND)
        rc = nb_reading_tell(&l.reading, rc, &why, error);
    nb_reading_end(&l.reading);
    return rc;
}

/* ---- one verdict ----------------------------------------------------------------------------- */

static int read_found(struct nb_reading *r, struct nb_history_found *found,
                      struct nb_history_record *record, struct nb_error *error)
{
    int rc = nb_history_read(record, (struct nb_string){found->stored.bytes, found->stored.length},
                             error);
    if (rc == 0)
        rc = nb_store_snapshot(r->engine->store, &r->view, error);
    if (rc != 0)
        return rc;
    fill_row(record, &found->row);
    rc = find_label(r, &found->row, error);
    nb_store_snapshot_end(&r->view);
    if (rc != 0 || found->row.label.length == 0)
        return rc;
    found->label = nb_string_copy(found->row.label);
    found->row.label = nb_string_of(found->label);
    return found->label != NULL ? 0 : nb_error_no_memory(error);
}

static int find(struct nb_reading *r, struct nb_string model, struct nb_string id,
                struct nb_history_found *found, struct nb_error *error)
{
    struct nb_error why = {0};
    struct nb_history_record record;
    int rc = nb_remember_find(r->engine, r->live, id, &found->stored, &why);
    if (rc == NB_NOT_FOUND)
        return nb_error_set(error, rc,
                            "the history of the model '%.*s' has no verdict about '%.*s'",
                            (int)model.length, model.bytes, (int)id.length, id.bytes);
    if (rc == 0)
        rc = read_found(r, found, &record, &why);
    if (rc == 0)
        rc = nb_remember_bag(&record, r->live->key, r->coder, &found->bag, &why);
    return nb_reading_tell(r, rc, &why, error);
}

int nb_engine_history_find(struct nb_engine *engine, struct nb_string model, struct nb_string id,
                           size_t explain, struct nb_history_found *found,
                           struct nb_verdict *verdict, struct nb_error *error)
{
    struct nb_reading r;
    *found = (struct nb_history_found){.label = NULL};
    int rc = nb_check_id(id, error);
    if (rc == 0)
        rc = nb_reading_begin(&r, engine, model, error);
    if (rc != 0)
        return rc;
    rc = find(&r, model, id, found, error);
    nb_reading_end(&r);
    return rc != 0 ? rc
                   : nb_engine_classify_bag(engine, model, &found->bag, explain, verdict, error);
}

void nb_history_found_deinit(struct nb_history_found *found)
{
    nb_buffer_deinit(&found->stored);
    nb_bag_deinit(&found->bag);
    free(found->label);
    *found = (struct nb_history_found){.label = NULL};
}
