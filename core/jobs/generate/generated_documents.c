/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/generated_documents.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_features.h"
#include "core/model/registry.h"

/* STEP: documents that are read in one snapshot. */
enum { STEP = 512, NO_FIELD = 0xffff };

/* A value of a document. */
struct cell {
    uint16_t field;
    uint32_t row;
    uint64_t id; /* id of its feature */
};

struct document {
    uint32_t label;
    size_t end; /* end of its cells in `cells` */
};

struct nb_documents {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_published *published;
    size_t *attributes; /* owned: of each field */
    size_t count;
    uint16_t field_of[NB_ATTRIBUTES_MOST]; /* or NO_FIELD */
    struct nb_string *values;              /* owned: of one document */
    struct nb_ledger_steps steps;
    struct nb_rows rows;
    struct document documents[STEP];
    size_t document_count;
    struct cell *cells; /* owned: of the step */
    size_t cell_count, cell_room;
    uint32_t *known; /* owned: by row, its place in `texts` plus 1, or 0 */
    size_t known_room;
    char **texts; /* owned: values, NUL-terminated */
    size_t text_count, text_room;
};

/* ---- fields ---------------------------------------------------------------------------------- */

static int add_field(struct nb_documents *d, size_t attribute, struct nb_error *error)
{
    const struct nb_attribute *a = &d->published->settings.attributes[attribute];
    if (a->kind != NB_FIELD_KIND_CATEGORY)
        return nb_error_set(error, NB_UNUSABLE, "the field '%s' is no category", a->name);
    if (d->field_of[attribute] != NO_FIELD)
        return nb_error_set(error, NB_UNUSABLE, "the field '%s' is named twice", a->name);
    d->field_of[attribute] = (uint16_t)d->count;
    d->attributes[d->count++] = attribute;
    return 0;
}

static int find_fields(struct nb_documents *d, const struct nb_string *fields, size_t count,
                       struct nb_error *error)
{
    struct nb_attributes all = nb_settings_attributes(&d->published->settings);
    int rc = 0;
    for (size_t i = 0; count == 0 && i < all.count; i++)
        if (all.list[i].kind == NB_FIELD_KIND_CATEGORY)
            rc = add_field(d, i, error);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        size_t attribute = nb_attribute_find(all, fields[i]);
        rc = attribute == all.count
                 ? nb_error_set(error, NB_UNUSABLE, "model '%s' has no field '%.*s'", d->live->name,
                                (int)fields[i].length, fields[i].bytes)
                 : add_field(d, attribute, error);
    }
    if (rc == 0 && d->count == 0)
        rc = nb_error_set(error, NB_UNUSABLE, "model '%s' has no field of the kind category",
                          d->live->name);
    return rc;
}

int nb_documents_begin(struct nb_engine *engine, struct nb_string model,
                       const struct nb_string *fields, size_t count,
                       struct nb_documents **documents, struct nb_error *error)
{
    struct nb_documents *d = calloc(1, sizeof *d);
    if (d == NULL)
        return nb_error_no_memory(error);
    d->engine = engine;
    memset(d->field_of, 0xff, sizeof d->field_of);
    d->attributes = calloc(NB_ATTRIBUTES_MOST, sizeof *d->attributes);
    d->values = calloc(NB_ATTRIBUTES_MOST, sizeof *d->values);
    int rc = d->attributes == NULL || d->values == NULL
                 ? nb_error_no_memory(error)
                 : nb_registry_acquire(engine, model, false, &d->live, error);
    if (rc == 0) {
        d->published = nb_live_settings(d->live);
        rc = find_fields(d, fields, count, error);
    }
    if (rc == 0)
        *documents = d;
    else
        nb_documents_end(&d);
    return rc;
}

void nb_documents_end(struct nb_documents **documents)
{
    struct nb_documents *d = *documents;
    *documents = NULL;
    if (d == NULL)
        return;
    nb_strings_free(d->texts, d->text_count);
    free(d->known);
    free(d->cells);
    free(d->values);
    free(d->attributes);
    nb_rows_deinit(&d->rows);
    nb_published_release(&d->published);
    if (d->live != NULL)
        nb_registry_release(d->engine, &d->live);
    free(d);
}

size_t nb_documents_fields(const struct nb_documents *documents)
{
    return documents->count;
}

struct nb_string nb_documents_field(const struct nb_documents *documents, size_t field)
{
    assert(field < documents->count);
    size_t attribute = documents->attributes[field];
    return nb_string_of(documents->published->settings.attributes[attribute].name);
}

/* ---- a step of the ledger -------------------------------------------------------------------- */

/* The field of a feature, or NO_FIELD. */
static uint16_t field_of(const struct nb_documents *d, uint64_t id)
{
    if (nb_feature_field(id) != NB_FIELD_VALUE || nb_part_is_presence(nb_feature_part(id)))
        return NO_FIELD;
    return d->field_of[nb_feature_part(id) / 2];
}

/* Copies the values of the document in `rows`. Under the read lock. */
static int copy_cells(struct nb_documents *d)
{
    for (size_t i = 0; i < d->rows.size; i++) {
        uint32_t row = d->rows.counts[i].row;
        uint64_t id = nb_model_row_id(d->live->counts, row);
        uint16_t field = field_of(d, id);
        if (field == NO_FIELD)
            continue;
        if (nb_array_reserve(&d->cells, &d->cell_room, d->cell_count + 1, sizeof *d->cells) != 0)
            return NB_NO_MEMORY;
        d->cells[d->cell_count++] = (struct cell){field, row, id};
    }
    return 0;
}

static int take_entry(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_documents *d = user;
    const struct nb_model *counts = d->live->counts;
    assert(d->document_count < STEP);
    nb_model_read_lock(counts);
    int rc = nb_bag_decode(entry->change.bag, nb_model_rows(counts), &d->rows, error);
    bool is_label =
        entry->change.label == NB_NO_LABEL || entry->change.label < nb_model_label_count(counts);
    if (rc == 0 && copy_cells(d) != 0)
        rc = nb_error_no_memory(error);
    nb_model_unlock(counts);
    if (rc == 0 && !is_label)
        rc = nb_error_set(error, NB_CORRUPT, "the store is damaged: an entry's label is unknown");
    d->documents[d->document_count++] =
        (struct document){.label = entry->change.label, .end = d->cell_count};
    return rc;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int read_text(struct nb_documents *d, struct nb_row_texts *texts, const struct cell *cell,
                     struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    int rc = nb_row_texts_get(texts, cell->row, cell->id, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0; /* forgotten meanwhile */
    if (rc == 0 && !is_kept)
        rc =
            nb_error_set(error, NB_CONFLICT,
                         "values were learned without their texts ([store] keep_words = no): there "
                         "is nothing to name states with");
    if (rc != 0)
        return rc;
    size_t name = nb_documents_field(d, cell->field).length + 1; /* as in `country=DE` */
    assert(text.length >= name);
    char *copy = nb_string_copy((struct nb_string){text.bytes + name, text.length - name});
    if (copy == NULL ||
        nb_array_reserve(&d->texts, &d->text_room, d->text_count + 1, sizeof *d->texts) != 0) {
        free(copy);
        return nb_error_no_memory(error);
    }
    d->texts[d->text_count++] = copy;
    d->known[cell->row] = (uint32_t)d->text_count;
    return 0;
}

static int make_room(struct nb_documents *d, uint32_t row)
{
    size_t before = d->known_room;
    if (nb_array_reserve(&d->known, &d->known_room, (size_t)row + 1, sizeof *d->known) != 0)
        return NB_NO_MEMORY;
    if (d->known_room > before)
        memset(d->known + before, 0, (d->known_room - before) * sizeof *d->known);
    return 0;
}

static int set_value(struct nb_documents *d, struct nb_row_texts *texts, const struct cell *cell,
                     struct nb_error *error)
{
    int rc = make_room(d, cell->row) != 0 ? nb_error_no_memory(error) : 0;
    if (rc == 0 && d->known[cell->row] == 0)
        rc = read_text(d, texts, cell, error);
    if (rc == 0 && d->known[cell->row] != 0)
        d->values[cell->field] = nb_string_of(d->texts[d->known[cell->row] - 1]);
    return rc;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Returns the name of a label; for a document without a label its bytes are NULL. */
static struct nb_string label_of(const struct nb_documents *d, uint32_t label)
{
    struct nb_string name = {NULL, 0};
    nb_model_read_lock(d->live->counts);
    if (label != NB_NO_LABEL)
        name = nb_model_label_name(d->live->counts, label);
    nb_model_unlock(d->live->counts);
    return name;
}

static int visit_all(struct nb_documents *d, struct nb_row_texts *texts, nb_documents_visit *visit,
                     void *user, struct nb_error *error)
{
    size_t cell = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < d->document_count; i++) {
        for (size_t field = 0; field < d->count; field++)
            d->values[field] = (struct nb_string){NULL, 0};
        for (; rc == 0 && cell < d->documents[i].end; cell++)
            rc = set_value(d, texts, &d->cells[cell], error);
        if (rc == 0)
            rc = visit(user, label_of(d, d->documents[i].label), d->values, error);
    }
    return rc;
}

/* Texts are read in a snapshot that ends with the step. */
static int visit_step(struct nb_documents *d, nb_documents_visit *visit, void *user,
                      struct nb_error *error)
{
    struct nb_row_texts texts;
    int rc = nb_row_texts_begin(&texts, d->engine->store, d->live->number, d->live->key, error);
    if (rc == 0)
        rc = visit_all(d, &texts, visit, user, error);
    nb_row_texts_end(&texts);
    return rc;
}

int nb_documents_walk(struct nb_documents *documents, bool (*stop)(void *), void *stop_user,
                      nb_documents_visit *visit, void *user, struct nb_error *error)
{
    struct nb_documents *d = documents;
    int rc = 0;
    d->steps = (struct nb_ledger_steps){.store = d->engine->store,
                                        .model = d->live->number,
                                        .only = NB_LEDGER_LIVING,
                                        .most = STEP,
                                        .visit = take_entry,
                                        .user = d};
    while (rc == 0 && !d->steps.is_done) {
        d->document_count = d->cell_count = 0;
        rc = nb_step_check(stop, stop_user, error);
        if (rc == 0)
            rc = nb_ledger_step(&d->steps, error);
        if (rc == 0)
            rc = visit_step(d, visit, user, error);
    }
    return rc;
}
