/* SPDX-License-Identifier: Apache-2.0
 *
 * Verification: the counts as a start would load them, held against counts made afresh from the
 * living documents.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine_private.h"

enum { LINE_MOST = 512, REPORT_MOST = 100 };

struct verifying {
    const struct nb_view *view;
    struct nb_live *live;
    struct nb_model *fresh; /* made from the living documents */
    struct nb_rows rows;
    uint64_t living, indexed;
    void (*report)(void *user, const char *line);
    void *user;
    uint64_t differences;
};

__attribute__((format(printf, 2, 3))) static void differ(struct verifying *v, const char *format,
                                                         ...)
{
    char line[LINE_MOST];
    int at = snprintf(line, sizeof line, "model '%s': ", v->live->name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + at, sizeof line - (size_t)at, format, arguments);
    va_end(arguments);
    v->differences++;
    if (v->differences <= REPORT_MOST)
        v->report(v->user, line);
    if (v->differences == REPORT_MOST)
        v->report(v->user, "... further differences are only counted");
}

static int add_document(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct verifying *v = user;
    struct nb_entry entry;
    struct nb_string index;
    int rc = nb_entry_read(&entry, value, error);
    if (rc != 0 || entry.kind != NB_ENTRY_LEARNED)
        return rc;
    struct nb_store_key id = nb_store_key_id(v->live->number, entry.id);
    rc = nb_store_get(v->view, NB_TABLE_DOCUMENTS, nb_store_key_string(&id), &index, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker r = nb_unpacker_of(index.bytes, index.length);
    if (nb_unpack_varint(&r) != nb_store_key_tail(key))
        return 0; /* replaced */
    v->living++;
    rc = nb_bag_decode(entry.bag, nb_model_rows(v->fresh), &v->rows, error);
    if (rc != 0)
        return rc;
    if (entry.label >= nb_model_label_count(v->fresh))
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: an entry's label is unknown");
    struct nb_model_change change = {.add_label = entry.label,
                                     .add = v->rows.counts,
                                     .add_size = v->rows.size,
                                     .take_label = UINT32_MAX};
    size_t new_tokens;
    rc = nb_model_change(v->fresh, &change, &new_tokens);
    return rc == 0 ? 0 : nb_error_set(error, rc, "counting the documents afresh failed");
}

static int count_index(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct verifying *v = user;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    struct nb_store_key entry_key = nb_store_key_sequence(v->live->number, nb_unpack_varint(&r));
    struct nb_string stored;
    struct nb_entry entry;
    v->indexed++;
    int rc =
        nb_store_get(v->view, NB_TABLE_LEDGER, nb_store_key_string(&entry_key), &stored, error);
    if (rc == 0)
        rc = nb_entry_read(&entry, stored, error);
    if (rc == NB_NOT_FOUND || (rc == 0 && entry.kind != NB_ENTRY_LEARNED)) {
        differ(v, "document '%.*s' has no ledger entry", (int)(key.length - 4), key.bytes + 4);
        return 0;
    }
    return rc;
}

static int make_fresh(struct verifying *v, struct nb_error *error)
{
    const struct nb_model *counts = v->live->counts;
    v->fresh = nb_model_new();
    if (v->fresh == NULL)
        return nb_error_no_memory(error);
    uint32_t made;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++)
        if (nb_model_label(v->fresh, nb_model_label_name(counts, i), &made) != 0)
            return nb_error_no_memory(error);
    for (uint32_t i = 0; i < nb_model_rows(counts); i++)
        if (nb_model_append(v->fresh, nb_model_row_id(counts, i), &made) != 0)
            return nb_error_no_memory(error);
    return 0;
}

static int compare_row(struct verifying *v, uint32_t row, struct nb_error *error)
{
    const struct nb_model *counts = v->live->counts;
    uint32_t labels = nb_model_label_count(counts);
    struct nb_cell *a = calloc((size_t)labels * 2 + 1, sizeof *a);
    if (a == NULL)
        return nb_error_no_memory(error);
    struct nb_cell *b = a + labels;
    size_t n = nb_model_cells(counts, row, a, labels);
    size_t m = nb_model_cells(v->fresh, row, b, labels);
    bool same = n == m;
    for (size_t i = 0; same && i < n; i++)
        same = a[i].label == b[i].label && a[i].occurrences == b[i].occurrences &&
               a[i].documents == b[i].documents;
    free(a);
    if (same)
        return 0;
    char *word;
    size_t length;
    int rc = nb_word_of_row(v->view, v->live, row, &word, &length, error);
    if (rc == 0) {
        differ(v, "the counts of '%s' are not those of the documents", word);
        free(word);
    }
    return rc;
}

static void compare_labels(struct verifying *v)
{
    const struct nb_model *counts = v->live->counts;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++) {
        uint64_t got = nb_model_documents(counts, i);
        uint64_t want = nb_model_documents(v->fresh, i);
        if (got != want)
            differ(v, "label '%s' counts %" PRIu64 " documents, there are %" PRIu64,
                   nb_model_label_name(counts, i).bytes, got, want);
        for (unsigned field = 0; field < NB_FIELDS; field++)
            if (nb_model_occurrences(counts, i, field) !=
                    nb_model_occurrences(v->fresh, i, field) ||
                nb_model_presences(counts, i, field) != nb_model_presences(v->fresh, i, field))
                differ(v, "label '%s': the sums of field %s are not those of the documents",
                       nb_model_label_name(counts, i).bytes, nb_field_name((enum nb_field)field));
    }
    if (v->living != v->indexed)
        differ(v, "%" PRIu64 " documents in the index, %" PRIu64 " in the ledger", v->indexed,
               v->living);
}

static int verify_model(struct verifying *v, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(v->live->number);
    struct nb_string prefix = nb_store_key_string(&key);
    int rc = make_fresh(v, error);
    if (rc == 0)
        rc = nb_store_scan(v->view, NB_TABLE_LEDGER, prefix, prefix.length, add_document, v, error);
    if (rc == 0)
        rc = nb_store_scan(v->view, NB_TABLE_DOCUMENTS, prefix, prefix.length, count_index, v,
                           error);
    for (uint32_t row = 0; rc == 0 && row < nb_model_rows(v->live->counts); row++)
        rc = compare_row(v, row, error);
    if (rc == 0)
        compare_labels(v);
    nb_model_free(&v->fresh);
    nb_rows_deinit(&v->rows);
    return rc;
}

static int verify_all(struct nb_engine *engine, struct verifying *v, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < engine->model_count; i++) {
        struct nb_live *live = NULL;
        struct nb_view view;
        struct nb_string name = {engine->models[i]->name, strlen(engine->models[i]->name)};
        rc = nb_registry_acquire(engine, name, false, &live, error);
        if (rc == 0)
            rc = nb_store_snapshot(engine->store, &view, error);
        if (rc == 0) {
            v->view = &view;
            v->live = live;
            v->living = v->indexed = 0;
            rc = verify_model(v, error);
            nb_store_snapshot_end(&view);
        }
        nb_registry_release(engine, &live);
    }
    return rc;
}

int nb_engine_verify(const struct nb_engine_settings *settings,
                     void (*report)(void *user, const char *line), void *user,
                     struct nb_error *error)
{
    struct nb_engine *engine;
    struct verifying v = {.report = report, .user = user};
    char path[4096];
    /* Opening would make a store where there is none, and find it in order: a mistyped directory
     * must not pass for a good one. */
    int length = snprintf(path, sizeof path, "%s/data.mdb", settings->directory);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) != 0)
        return nb_error_set(error, NB_NOT_FOUND, "there is no store in %s", settings->directory);
    int rc = nb_engine_open_reading(settings, &engine, error);
    if (rc != 0)
        return rc;
    rc = verify_all(engine, &v, error);
    nb_engine_close(&engine);
    return rc == 0 && v.differences > 0 ? 1 : rc;
}
