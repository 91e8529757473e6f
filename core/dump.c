/* SPDX-License-Identifier: Apache-2.0
 *
 * Export: one consistent state of a model, record by record, from a snapshot of the store.
 */
#include <stdlib.h>
#include <string.h>

#include "core/engine_private.h"

enum { RUN_ROWS = 1000 }; /* features per record where no words say otherwise */

struct dumping {
    const struct nb_view *view;
    struct nb_live *live;
    struct nb_published *published;
    const struct nb_dump_sink *sink;
    uint32_t rows; /* of the snapshot */
    uint32_t next; /* row that is to be dumped next */
    uint64_t *ids; /* of a run; owned */
    struct nb_string *texts;
    size_t room;
    struct nb_rows bag;
    uint32_t *row_list, *count_list; /* of a document; owned */
    size_t list_room;
};

static int make_room(struct dumping *d, size_t count)
{
    if (count <= d->room)
        return 0;
    uint64_t *ids = realloc(d->ids, count * sizeof *ids);
    if (ids != NULL)
        d->ids = ids;
    struct nb_string *texts = realloc(d->texts, count * sizeof *texts);
    if (texts != NULL)
        d->texts = texts;
    if (ids == NULL || texts == NULL)
        return NB_NO_MEMORY;
    d->room = count;
    return 0;
}

/* Ids never change once a row is there, so that the snapshot's rows may be read from memory. */
static void read_ids(struct dumping *d, uint32_t first, size_t count)
{
    nb_model_read_lock(d->live->counts);
    for (size_t i = 0; i < count; i++)
        d->ids[i] = nb_model_row_id(d->live->counts, first + (uint32_t)i);
    nb_model_unlock(d->live->counts);
}

/* Rows that have no words in the store. */
static int dump_gap(struct dumping *d, uint32_t end, struct nb_error *error)
{
    int rc = make_room(d, RUN_ROWS) != 0 ? nb_error_no_memory(error) : 0;
    while (rc == 0 && d->next < end) {
        size_t count = end - d->next < RUN_ROWS ? end - d->next : RUN_ROWS;
        read_ids(d, d->next, count);
        struct nb_dump_words run = {.first_row = d->next, .count = count, .ids = d->ids};
        rc = d->sink->words(d->sink->user, &run);
        d->next += (uint32_t)count;
    }
    return rc;
}

static int dump_words(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct dumping *d = user;
    uint64_t first = nb_store_key_tail(key);
    size_t count = 0;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    if (first < d->next || first >= d->rows)
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: words out of order");
    int rc = dump_gap(d, (uint32_t)first, error);
    while (rc == 0 && r.at < r.end && !r.failed) {
        if (make_room(d, count + 1 < d->room ? d->room : (count + 1) * 2) != 0)
            return nb_error_no_memory(error);
        d->texts[count++] = nb_unpack_string(&r);
    }
    if (rc != 0)
        return rc;
    if (r.failed || first + count > d->rows)
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: words do not read back");
    read_ids(d, (uint32_t)first, count);
    struct nb_dump_words run = {
        .first_row = (uint32_t)first, .count = count, .ids = d->ids, .texts = d->texts};
    d->next = (uint32_t)(first + count);
    return d->sink->words(d->sink->user, &run);
}

static int is_living(const struct dumping *d, const struct nb_entry *entry, uint64_t sequence,
                     bool *living, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(d->live->number, entry->id);
    struct nb_string value;
    *living = false;
    if (entry->kind != NB_ENTRY_LEARNED)
        return 0;
    int rc = nb_store_get(d->view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    *living = nb_unpack_varint(&r) == sequence;
    return 0;
}

static int list_bag(struct dumping *d, const struct nb_entry *entry, struct nb_error *error)
{
    int rc = nb_bag_decode(entry->bag, d->rows, &d->bag, error);
    if (rc != 0)
        return rc;
    if (d->bag.size > d->list_room) {
        uint32_t *rows = realloc(d->row_list, d->bag.size * sizeof *rows);
        if (rows != NULL)
            d->row_list = rows;
        uint32_t *counts = realloc(d->count_list, d->bag.size * sizeof *counts);
        if (counts != NULL)
            d->count_list = counts;
        if (rows == NULL || counts == NULL)
            return nb_error_no_memory(error);
        d->list_room = d->bag.size;
    }
    for (size_t i = 0; i < d->bag.size; i++) {
        d->row_list[i] = d->bag.counts[i].row;
        d->count_list[i] = d->bag.counts[i].count;
    }
    return 0;
}

static int dump_document(void *user, struct nb_string key, struct nb_string value,
                         struct nb_error *error)
{
    struct dumping *d = user;
    struct nb_entry entry;
    bool living;
    int rc = nb_entry_read(&entry, value, error);
    if (rc == 0)
        rc = is_living(d, &entry, nb_store_key_tail(key), &living, error);
    if (rc != 0 || !living)
        return rc;
    rc = list_bag(d, &entry, error);
    if (rc != 0)
        return rc;
    struct nb_dump_document document = {.id = entry.id,
                                        .label = entry.label,
                                        .learned = entry.time,
                                        .tokens = entry.tokens,
                                        .rows = d->row_list,
                                        .counts = d->count_list,
                                        .size = d->bag.size};
    struct nb_store_key score = nb_store_key_sequence(d->live->number, nb_store_key_tail(key));
    rc =
        nb_store_get(d->view, NB_TABLE_SCORES, nb_store_key_string(&score), &document.score, error);
    if (rc != 0 && rc != NB_NOT_FOUND)
        return rc;
    return d->sink->document(d->sink->user, &document);
}

static int read_stack(const struct dumping *d, struct nb_string *stack, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(d->live->number);
    *stack = (struct nb_string){"", 0};
    int rc = nb_store_get(d->view, NB_TABLE_STACK, nb_store_key_string(&key), stack, error);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

static int dump_header(struct dumping *d, struct nb_error *error)
{
    struct nb_live *live = d->live;
    struct nb_dump_header header = {.label_count = 0};
    memcpy(header.key, live->key.bytes, sizeof header.key);
    nb_model_read_lock(live->counts);
    size_t count = nb_model_label_count(live->counts);
    const char **labels = calloc(count + 1, sizeof *labels);
    for (size_t i = 0; labels != NULL && i < count; i++)
        labels[i] = nb_model_label_name(live->counts, (uint32_t)i).bytes;
    nb_model_unlock(live->counts);
    if (labels == NULL)
        return nb_error_no_memory(error);
    header.label_count = count;
    header.labels = labels;
    header.settings = d->published->settings; /* borrowed */
    int rc = read_stack(d, &header.stack, error);
    if (rc == 0)
        rc = d->sink->header(d->sink->user, &header);
    free(labels);
    return rc;
}

static int dump_all(struct dumping *d, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(d->live->number);
    struct nb_string prefix = nb_store_key_string(&key);
    struct nb_string value;
    struct nb_state_record state = {.rows = 0};
    int rc = nb_store_get(d->view, NB_TABLE_STATE, prefix, &value, error);
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    else if (rc == NB_NOT_FOUND)
        rc = 0;
    d->rows = state.rows;
    if (rc == 0)
        rc = dump_header(d, error);
    if (rc == 0)
        rc = nb_store_scan(d->view, NB_TABLE_WORDS, prefix, prefix.length, dump_words, d, error);
    if (rc == 0)
        rc = dump_gap(d, d->rows, error);
    if (rc == 0)
        rc =
            nb_store_scan(d->view, NB_TABLE_LEDGER, prefix, prefix.length, dump_document, d, error);
    return rc;
}

int nb_engine_export(struct nb_engine *engine, struct nb_string model,
                     const struct nb_dump_sink *sink, struct nb_error *error)
{
    struct nb_live *live;
    struct nb_view view;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    /* Before the snapshot: a model's lock comes before the store's. */
    struct nb_published *published = nb_live_settings(live);
    rc = nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        struct dumping d = {.view = &view, .live = live, .published = published, .sink = sink};
        rc = dump_all(&d, error);
        nb_store_snapshot_end(&view);
        nb_rows_deinit(&d.bag);
        free(d.ids);
        free(d.texts);
        free(d.row_list);
        free(d.count_list);
    }
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return rc;
}
