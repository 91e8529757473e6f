/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/repair/rebuilding.h"
#include "core/base/array.h"
#include "core/ledger/entries/range.h"
#include "core/model/live/model_transaction.h"

enum { BATCH_ENTRIES = 2000, ENTRY_BYTES = 8192 };

/* ---- contents of lost entries ---------------------------------------------------------------- */

static bool is_about_label(const struct nb_change *c)
{
    return c->kind == NB_CHANGE_TRAIN || c->kind == NB_CHANGE_UNTRAIN ||
           c->kind == NB_CHANGE_RENAME_LABEL ||
           (c->kind == NB_CHANGE_FEATURES && c->label_name.length > 0);
}

static bool is_known(const struct nb_rebuilt_model *m, uint32_t row)
{
    return row / 8 < m->known_room && (m->known[row / 8] >> row % 8 & 1) != 0;
}

static void set_known(struct nb_rebuilt_model *m, uint32_t row, bool known)
{
    unsigned char bit = (unsigned char)(1u << row % 8);
    m->known[row / 8] = (unsigned char)(known ? m->known[row / 8] | bit : m->known[row / 8] & ~bit);
}

static int know(struct nb_rebuilt_model *m, const struct nb_rows *rows)
{
    size_t before = m->known_room;
    size_t bytes = rows->size == 0 ? 0 : rows->counts[rows->size - 1].row / 8 + (size_t)1;
    if (nb_array_reserve(&m->known, &m->known_room, bytes, 1) != 0)
        return NB_NO_MEMORY;
    if (m->known_room > before)
        memset(m->known + before, 0, m->known_room - before);
    for (size_t i = 0; i < rows->size; i++)
        set_known(m, rows->counts[i].row, true);
    return 0;
}

/* Notes the rows that an entry brings, and collects the rows in its bag that no entry has brought.
 */
static int find_missing(struct nb_rebuilding *r, struct nb_rebuilt_model *m,
                        const struct nb_change *c, struct nb_error *error)
{
    r->missing.size = 0;
    int rc = c->new_count == 0 ? 0 : nb_change_new_rows(c, UINT32_MAX - 2, &r->rows, error);
    if (rc == 0 && c->new_count > 0 && know(m, &r->rows) != 0)
        return nb_error_no_memory(error);
    if (rc != 0 || c->kind != NB_CHANGE_TRAIN)
        return rc;
    rc = nb_bag_decode(c->bag, UINT32_MAX - 2, &r->bag, error);
    for (size_t i = 0; rc == 0 && i < r->bag.size; i++)
        if (!is_known(m, r->bag.counts[i].row) &&
            nb_rows_add(&r->missing, r->bag.counts[i].row, 1) != 0)
            return nb_error_no_memory(error);
    return rc;
}

static int encode_missing(struct nb_rebuilding *r, const struct nb_change *c)
{
    size_t count = r->missing.size;
    uint64_t *ids = malloc((count + 1) * sizeof *ids);
    r->features.length = r->new_rows.length = 0;
    if (ids == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint64_t what[2] = {c->model, r->missing.counts[i].row};
        ids[i] = nb_feature_id(NB_FIELD_BODY, nb_key_hash(&r->to->key, what, sizeof what));
    }
    int rc = count == 0 ? 0 : nb_features_encode(r->to->coder, ids, NULL, count, &r->features);
    if (rc == 0)
        rc = nb_bag_encode(&r->missing, &r->new_rows);
    free(ids);
    return rc;
}

/* A transaction that is repeated finds the same rows missing again. */
static int note_filled(struct nb_rebuilding *r, struct nb_rebuilt_model *m)
{
    if (know(m, &r->missing) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < r->missing.size; i++) {
        if (nb_array_reserve(&r->filled, &r->filled_room, r->filled_count + 1, sizeof *r->filled) !=
            0)
            return NB_NO_MEMORY;
        r->filled[r->filled_count++] = (struct nb_filled_row){m, r->missing.counts[i].row};
    }
    return 0;
}

/* An entry may need rows and a label that a lost entry brought. A substitute entry gives these rows
 * ids that no text has, and the label a name that says so. */
static int fill_gap(struct nb_rebuilding *r, struct nb_view *view, struct nb_rebuilt_model *m,
                    const struct nb_change *c, struct nb_error *error)
{
    char name[32];
    /* Labels that must be there before this entry. */
    uint32_t needed = c->label == NB_NO_LABEL ? 0 : c->label + (c->label_name.length == 0);
    bool label = is_about_label(c) && m->labels < needed;
    int rc = find_missing(r, m, c, error);
    uint32_t missing = (uint32_t)r->missing.size;
    if (rc != 0 || (missing == 0 && !label) || r->gap == 0)
        return rc;
    if (encode_missing(r, c) != 0 || note_filled(r, m) != 0)
        return nb_error_no_memory(error);
    int length = snprintf(name, sizeof name, "lost label %" PRIu32, m->labels);
    struct nb_entry lost = {.number = r->gap,
                            .change = {.kind = NB_CHANGE_FEATURES,
                                       .model = c->model,
                                       .time = c->time,
                                       .label = m->labels,
                                       .label_name = {name, label ? (size_t)length : 0},
                                       .first_row = missing > 0 ? r->missing.counts[0].row : 0,
                                       .new_count = missing,
                                       .features = {r->features.bytes, r->features.length},
                                       .new_rows = {r->new_rows.bytes, r->new_rows.length}}};
    nb_differ(r->d, "model %" PRIu32 ": %" PRIu32 " features%s have lost their text", c->model,
              missing, label ? " and a label" : "");
    m->labels += label;
    r->gap = 0;
    return nb_ledger_copy(view, &lost, &m->totals, &r->scratch, error);
}

/* ---- copying --------------------------------------------------------------------------------- */

static int copy_entry(struct nb_rebuilding *r, struct nb_view *view, uint64_t number,
                      struct nb_error *error)
{
    const struct nb_change *c = &r->entry.change;
    assert(number > r->previous);
    int rc = nb_ledger_read(r->view, number, &r->entry, error);
    if (rc == NB_NOT_FOUND || rc == NB_CORRUPT) {
        nb_lose(r->d, "ledger entry %" PRIu64 " is lost", number);
        return 0; /* the survey could read it, a search cannot */
    }
    if (rc != 0)
        return rc;
    if (number > r->previous + 1)
        r->gap = r->previous + 1;
    const struct nb_surveyed_model *model = nb_survey_model(&r->survey, c->model);
    bool gone = model == NULL || !nb_surveyed_exists(model);
    if (gone && c->kind != NB_CHANGE_DELETE)
        return 0;
    struct nb_rebuilt_model *m = gone ? &r->nobody : &r->models[model - r->survey.models];
    if (!gone)
        rc = fill_gap(r, view, m, c, error);
    if (rc == 0)
        rc = nb_ledger_copy(view, &r->entry, &m->totals, &r->scratch, error);
    if (c->label_name.length > 0 && c->kind != NB_CHANGE_RENAME_LABEL && c->label >= m->labels)
        m->labels = c->label + 1;
    r->previous = number;
    return rc;
}

static int copy_batch(struct nb_engine *to, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct nb_rebuilding *r = argument;
    int rc = 0;
    (void)to;
    for (size_t i = r->at; rc == 0 && i < r->end; i++)
        rc = copy_entry(r, view, r->survey.entries[i].number, error);
    return rc;
}

/* The counts before a batch, from which a repeated transaction starts again. */
struct copying {
    struct nb_rebuilding *rebuild;
    struct nb_rebuilt_model *saved;
    uint64_t previous, gap;
};

static int copy_again(struct nb_engine *to, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct copying *c = argument;
    struct nb_rebuilding *r = c->rebuild;
    for (size_t i = 0; i < r->survey.model_count; i++) {
        r->models[i].totals = c->saved[i].totals;
        r->models[i].labels = c->saved[i].labels;
    }
    for (size_t i = 0; i < r->filled_count; i++)
        set_known(r->filled[i].model, r->filled[i].row, false);
    r->filled_count = 0;
    r->previous = c->previous;
    r->gap = c->gap;
    return copy_batch(to, view, r, error);
}

int nb_rebuild_entries(struct nb_rebuilding *rebuilding, struct nb_error *error)
{
    struct nb_rebuilding *r = rebuilding;
    size_t size = (r->survey.model_count + 1) * sizeof *r->models;
    struct copying c = {.rebuild = r, .saved = malloc(size)};
    if (c.saved == NULL)
        return nb_error_no_memory(error);
    int rc = 0;
    for (r->at = 0; rc == 0 && r->at < r->survey.entry_count; r->at = r->end) {
        size_t left = r->survey.entry_count - r->at;
        r->end = r->at + (left < BATCH_ENTRIES ? left : BATCH_ENTRIES);
        memcpy(c.saved, r->models, size);
        c.previous = r->previous;
        c.gap = r->gap;
        r->filled_count = 0;
        rc = nb_transaction(r->to, (uint64_t)BATCH_ENTRIES * ENTRY_BYTES, copy_again, &c, error);
    }
    free(c.saved);
    return rc;
}
