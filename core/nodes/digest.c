/* SPDX-License-Identifier: Apache-2.0
 *
 * The digest is a sum of hashes, so that it does not depend on the order of rows. Each hash has 128
 * bits and covers bytes that begin with a kind.
 */
#include "core/nodes/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/system.h"
#include "core/base/wide.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/networks/network/named.h"
#include "core/writer/writer.h"

enum { ITEMS_UNTIMED = 1024 };

/* The kinds of items that are hashed. */
enum kind {
    KIND_MODEL = 1,
    KIND_LABEL,
    KIND_FEATURE,
    KIND_DOCUMENT,
    KIND_WAITING,
    KIND_NAMED,
    KIND_PART
};

struct summing {
    struct nb_engine *engine;
    struct nb_digest *digest;
    unsigned stream;
    uint64_t want;
    uint64_t most, until; /* nanoseconds that the digest may take; when they are over */
    uint64_t items;
    nb_uint128 sum;
    struct nb_live *live; /* the present model */
    struct nb_buffer bytes;
    struct nb_rows rows;
    struct nb_cell *cells;
    size_t cell_room;
};

/* ---- sums ------------------------------------------------------------------------------------ */

static bool is_late(const struct summing *s)
{
    return nb_clock_monotonic() > s->until;
}

static const struct nb_string NONE = {"", 0};

/* Adds the hash of an item: of its kind and model, two texts and some numbers. Returns NB_NO_MEMORY
 * also when the time is over; digest_task distinguishes the two. */
static int add(struct summing *s, enum kind kind, struct nb_string one, struct nb_string other,
               const uint64_t *numbers, size_t count, struct nb_error *error)
{
    struct nb_packer w = {.out = &s->bytes};
    s->bytes.length = 0;
    nb_pack_u8(&w, (uint8_t)kind);
    if (s->live != NULL)
        nb_pack_string(&w, nb_live_name(s->live));
    nb_pack_string(&w, one);
    nb_pack_string(&w, other);
    for (size_t i = 0; i < count; i++)
        nb_pack_u64(&w, numbers[i]);
    if (w.code != 0 || (++s->items % ITEMS_UNTIMED == 0 && is_late(s)))
        return nb_error_no_memory(error);
    XXH128_hash_t hash = XXH3_128bits(s->bytes.bytes, s->bytes.length);
    s->sum += (nb_uint128)hash.high64 << 64 | hash.low64;
    return 0;
}

/* ---- a model --------------------------------------------------------------------------------- */

static int add_settings(struct summing *s, struct nb_error *error)
{
    struct nb_buffer settings = {0};
    int rc = nb_settings_write(&s->live->published->settings, &settings);
    rc = rc != 0 ? nb_error_no_memory(error)
                 : add(s, KIND_MODEL, NONE, nb_buffer_string(&settings), &s->live->checkpoint.last,
                       1, error);
    nb_buffer_deinit(&settings);
    return rc;
}

static int add_counts(struct summing *s, struct nb_error *error)
{
    const struct nb_model *counts = s->live->counts;
    size_t labels = nb_model_label_count(counts);
    int rc = 0;
    if (nb_array_reserve(&s->cells, &s->cell_room, labels + 1, sizeof *s->cells) != 0)
        return nb_error_no_memory(error);
    for (uint32_t label = 0; rc == 0 && label < labels; label++) {
        const uint64_t numbers[] = {label, nb_model_documents(counts, label),
                                    nb_model_occurrences(counts, label, NB_ALL_TOKENS)};
        rc = add(s, KIND_LABEL, nb_model_label_name(counts, label), NONE, numbers, 3, error);
    }
    for (uint32_t row = 0; rc == 0 && row < nb_model_rows(counts); row++) {
        size_t size = nb_model_cells(counts, row, s->cells, s->cell_room);
        for (size_t i = 0; rc == 0 && i < size; i++) {
            const uint64_t numbers[] = {nb_model_row_id(counts, row), s->cells[i].label,
                                        s->cells[i].occurrences, s->cells[i].documents};
            rc = add(s, KIND_FEATURE, NONE, NONE, numbers, 4, error);
        }
    }
    return rc;
}

/* Returns the hash of a bag: a sum of hashes of its ids and counts. */
static uint64_t hash_of_bag(const struct summing *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->rows.size; i++) {
        const struct nb_row_count *c = &s->rows.counts[i];
        uint64_t pair[2] = {nb_model_row_id(s->live->counts, c->row), c->count};
        sum += XXH3_64bits(pair, sizeof pair);
    }
    return sum;
}

static int add_document(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct summing *s = user;
    const struct nb_change *c = &entry->change;
    s->rows.size = 0;
    int rc = nb_bag_decode(c->bag, nb_model_rows(s->live->counts), &s->rows, error);
    if (rc != 0)
        return rc;
    const uint64_t numbers[] = {entry->number, (uint64_t)c->time, c->label, c->tokens,
                                hash_of_bag(s)};
    return add(s, KIND_DOCUMENT, c->source, c->id, numbers, 5, error);
}

static int add_waiting(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    size_t number = sizeof(uint32_t); /* the model's number, which differs between stores */
    const struct nb_string id = {key.bytes + number, key.length - number};
    return add(user, KIND_WAITING, id, value, NULL, 0, error);
}

static int add_all_of(struct summing *s, const char *name, const struct nb_view *view,
                      struct nb_error *error)
{
    struct nb_error why = {0};
    int rc = nb_registry_acquire(s->engine, nb_string_of(name), false, &s->live, error);
    if (rc != 0)
        return rc;
    rc = add_settings(s, error);
    if (rc == 0)
        rc = add_counts(s, error);
    if (rc == 0) {
        rc = nb_ledger_walk_only(view, s->live->number, 0, NB_LEDGER_LIVING, add_document, s, &why);
        rc = rc == 0 ? 0 : nb_live_note(s->live, rc, &why, error);
    }
    struct nb_store_key key = nb_store_key_model(s->live->number);
    if (rc == 0)
        rc = nb_store_scan(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), key.length,
                           add_waiting, s, error);
    nb_registry_release(s->engine, &s->live);
    return rc;
}

/* ---- the store ------------------------------------------------------------------------------- */

static bool is_in_stream(const struct summing *s, struct nb_string name)
{
    return nb_relay_stream(name, s->engine->settings.streams) == s->stream;
}

static int add_models(struct summing *s, const struct nb_view *view, struct nb_error *error)
{
    char **names;
    size_t count;
    bool more;
    int rc = nb_registry_names(s->engine, NONE, SIZE_MAX, &names, &count, &more, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (rc == 0 && is_in_stream(s, nb_string_of(names[i])))
            rc = add_all_of(s, names[i], view, error);
        free(names[i]);
    }
    free(names);
    return rc;
}

static int add_named(void *user, struct nb_string key, struct nb_string value,
                     struct nb_error *error)
{
    const char *slash = memrchr(key.bytes, '/', key.length); /* a name has no slash */
    struct nb_string name =
        nb_string_from(key, slash == NULL ? 0 : (size_t)(slash + 1 - key.bytes));
    return is_in_stream(user, name) ? add(user, KIND_NAMED, key, value, NULL, 0, error) : 0;
}

static int add_part(void *user, const struct nb_traced *one, struct nb_error *error)
{
    return add(user, KIND_PART, one->id, one->message, NULL, 0, error);
}

static int digest_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct summing *s = argument;
    struct nb_view view;
    uint64_t position = atomic_load(&engine->stream_states.places[s->stream].applied);
    uint64_t now = nb_clock_monotonic();
    s->until = now + (s->most < UINT64_MAX - now ? s->most : UINT64_MAX - now);
    s->digest->number = position == 0 ? 0 : nb_relay_number(engine, s->stream, position);
    if (s->want != 0 && s->want != s->digest->number)
        return nb_error_set(error, NB_CONFLICT,
                            "the node is at %" PRIu64 " already, and has no digest of %" PRIu64,
                            s->digest->number, s->want);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = add_models(s, &view, error);
    if (rc == 0) /* the store's data besides models */
        rc = nb_named_scan(&view, add_named, s, error);
    if (rc == 0)
        rc = nb_message_walk(&view, NB_KEPT_PART, s->stream, 0, add_part, s, error);
    nb_store_snapshot_end(&view);
    if (rc == NB_NO_MEMORY && is_late(s))
        rc = nb_error_set(error, NB_TOO_LARGE,
                          "the store is too large to be compared with those of other nodes: that "
                          "would take more than %" PRIu64 " ms",
                          s->most / 1000000);
    return rc;
}

int nb_digest(struct nb_engine *engine, unsigned stream, uint64_t want, uint64_t most,
              struct nb_digest *digest, struct nb_error *error)
{
    struct summing s = {
        .engine = engine, .digest = digest, .stream = stream, .want = want, .most = most};
    int rc = nb_writer_run(engine, digest_task, &s, error);
    digest->half = (uint64_t)(s.sum >> 64);
    (void)snprintf(digest->digits, sizeof digest->digits, "%016" PRIx64 "%016" PRIx64, digest->half,
                   (uint64_t)s.sum);
    nb_buffer_deinit(&s.bytes);
    nb_rows_deinit(&s.rows);
    free(s.cells);
    return rc;
}
