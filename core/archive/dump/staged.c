/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/staged.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/key.h"
#include "core/base/pack.h"
#include "core/engine/writer.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/relayed.h"
#include "core/model/live/stream_states.h"

static_assert(NB_STAGED_ENTRIES < 1 << NB_SERIALS_ENTRY_BITS, "numbers of one place");

enum { FOUND = 1, PAGE_BYTES = 8192 };
static const int64_t PATIENCE = 3600000; /* milliseconds */

static const char PREFIX[] = "staged/";

void nb_staged_new_id(char id[NB_STAGED_ID + 1])
{
    (void)snprintf(id, NB_STAGED_ID + 1, "%016" PRIx64, nb_key_random());
}

bool nb_staged_is_id(struct nb_string id)
{
    uint64_t value;
    return id.length == NB_STAGED_ID && nb_hex_read(id, &value);
}

/* ---- keys and values ------------------------------------------------------------------------- */

static void add(struct nb_store_key *key, const void *bytes, size_t length)
{
    assert(key->length + length <= sizeof key->bytes);
    memcpy(key->bytes + key->length, bytes, length);
    key->length += length;
}

static struct nb_store_key head_key(struct nb_string id)
{
    struct nb_store_key key = {.length = 0};
    assert(id.length == NB_STAGED_ID);
    add(&key, PREFIX, sizeof PREFIX - 1);
    add(&key, id.bytes, id.length);
    return key;
}

static struct nb_store_key piece_key(struct nb_string id, uint32_t piece)
{
    struct nb_store_key key = head_key(id);
    uint32_t number = htobe32(piece);
    add(&key, "/", 1);
    add(&key, &number, sizeof number);
    return key;
}

static bool is_head(struct nb_string key)
{
    return key.length == sizeof PREFIX - 1 + NB_STAGED_ID;
}

struct head {
    uint64_t count; /* 0: there is none */
    int64_t time;
    unsigned stream;
};

static int damaged(struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: a piece of an import does not read back");
}

static int head_of(struct nb_string value, struct head *head, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    head->count = nb_unpack_bounded(&u, UINT32_MAX);
    head->time = (int64_t)nb_unpack_u64(&u);
    head->stream = nb_unpack_u8(&u);
    return nb_unpacker_done(&u) && head->count > 0 ? 0 : damaged(error);
}

static int read_head(const struct nb_view *view, struct nb_string id, struct head *head,
                     struct nb_error *error)
{
    struct nb_store_key key = head_key(id);
    struct nb_string value;
    *head = (struct head){0};
    int rc = nb_store_get(view, NB_TABLE_META, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    return rc != 0 ? rc : head_of(value, head, error);
}

static int put(const struct nb_view *view, const struct nb_store_key *key, struct nb_packer *w,
               struct nb_error *error)
{
    int rc = w->code != 0 ? nb_error_no_memory(error)
                          : nb_store_put(view, NB_TABLE_META, nb_store_key_string(key),
                                         nb_buffer_string(w->out), error);
    nb_buffer_deinit(w->out);
    return rc;
}

static int put_head(const struct nb_view *view, struct nb_string id, const struct head *head,
                    struct nb_error *error)
{
    struct nb_buffer value = {0};
    struct nb_packer w = {.out = &value};
    struct nb_store_key key = head_key(id);
    nb_pack_varint(&w, head->count);
    nb_pack_u64(&w, (uint64_t)head->time);
    nb_pack_u8(&w, (uint8_t)head->stream);
    return put(view, &key, &w, error);
}

static int put_piece(const struct nb_view *view, const struct nb_relayed_change *relayed_change,
                     uint64_t place, struct nb_error *error)
{
    struct nb_buffer value = {0};
    struct nb_packer w = {.out = &value};
    struct nb_store_key key = piece_key(relayed_change->from, (uint32_t)relayed_change->last);
    nb_pack_u64(&w, place);
    nb_pack_bytes(&w, relayed_change->settings.bytes, relayed_change->settings.length);
    return put(view, &key, &w, error);
}

int nb_staged_delete(const struct nb_view *view, struct nb_string id, struct nb_error *error)
{
    struct nb_store_key key = head_key(id);
    size_t deleted;
    return nb_store_clear(view, NB_TABLE_META, nb_store_key_string(&key), SIZE_MAX, &deleted,
                          error);
}

/* ---- imports that are given up --------------------------------------------------------------- */

struct looking {
    char id[NB_STAGED_ID];
    struct head head;
};

static int look(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct looking *l = user;
    if (!is_head(key))
        return 0; /* a piece whose head is gone */
    memcpy(l->id, key.bytes + sizeof PREFIX - 1, NB_STAGED_ID);
    int rc = head_of(value, &l->head, error);
    return rc != 0 ? rc : FOUND;
}

/* Gives up only imports of this stream: nodes may stand at different places in the others. Goes
 * from head to head, without reading the pieces between. */
static int give_up_old(const struct nb_view *view, unsigned stream, int64_t now,
                       struct nb_error *error)
{
    struct nb_store_key from = {.length = 0};
    struct looking l;
    int rc;
    add(&from, PREFIX, sizeof PREFIX - 1);
    while ((rc = nb_store_scan(view, NB_TABLE_META, nb_store_key_string(&from), sizeof PREFIX - 1,
                               look, &l, error)) == FOUND) {
        struct nb_string id = {l.id, NB_STAGED_ID};
        from = piece_key(id, UINT32_MAX);
        rc = l.head.stream == stream && now - l.head.time > PATIENCE
                 ? nb_staged_delete(view, id, error)
                 : 0;
        if (rc != 0)
            break;
    }
    return rc;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static int write_piece(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    const struct nb_relayed_change *relayed_change = argument;
    int64_t now = nb_stream_states_time(engine);
    unsigned stream = nb_serials_stream(engine->serials.entry);
    struct head head = {0};
    int rc = relayed_change->last == 0 ? give_up_old(view, stream, now, error) : 0;
    if (rc == 0)
        rc = read_head(view, relayed_change->from, &head, error);
    if (rc == 0 && head.count != relayed_change->last)
        rc = nb_error_set(error, NB_CONFLICT,
                          "the import was given up: %llu of its pieces are there, and piece %llu "
                          "came; begin it again",
                          (unsigned long long)head.count, (unsigned long long)relayed_change->last);
    head = (struct head){head.count + 1, now, stream};
    if (rc == 0)
        rc = put_piece(view, relayed_change, engine->serials.entry, error);
    return rc != 0 ? rc : put_head(view, relayed_change->from, &head, error);
}

static int add_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct nb_relayed_change *relayed_change = argument;
    return nb_transaction(engine, relayed_change->settings.length + PAGE_BYTES, write_piece,
                          argument, error);
}

int nb_staged_add(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                  struct nb_error *error)
{
    struct nb_relayed_change piece = *relayed_change;
    return nb_writer_run(engine, add_task, &piece, error);
}

static int write_drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    const struct nb_string *id = argument;
    (void)engine;
    return nb_staged_delete(view, *id, error);
}

static int drop_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, write_drop, argument, error);
}

int nb_staged_drop(struct nb_engine *engine, struct nb_string id, struct nb_error *error)
{
    return nb_writer_run(engine, drop_task, &id, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int get_piece(const struct nb_view *view, struct nb_string id, size_t piece, uint64_t *place,
                     struct nb_string *bytes, struct nb_error *error)
{
    struct nb_store_key key = piece_key(id, (uint32_t)piece);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_META, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? damaged(error) : rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    *place = nb_unpack_u64(&u);
    *bytes = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    return u.failed ? damaged(error) : 0;
}

static int read_places(const struct nb_view *view, struct nb_string id, uint64_t count,
                       struct nb_staged_numbers *numbers, struct nb_error *error)
{
    struct nb_string bytes;
    struct head head;
    int rc = read_head(view, id, &head, error);
    if (rc == 0 && (head.count != count || count == 0))
        rc = nb_error_set(error, NB_CONFLICT,
                          "the import was given up: %llu of %llu pieces are there; begin it again",
                          (unsigned long long)head.count, (unsigned long long)count);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = get_piece(view, id, i, &numbers->places[i], &bytes, error);
    return rc;
}

int nb_staged_numbers(struct nb_engine *engine, struct nb_string id, uint64_t count,
                      struct nb_staged_numbers *numbers, struct nb_error *error)
{
    struct nb_view view;
    *numbers = (struct nb_staged_numbers){.count = (size_t)count};
    if (count > UINT32_MAX)
        return nb_error_set(error, NB_UNUSABLE, "an import of so many pieces");
    numbers->places = malloc(((size_t)count + 1) * sizeof *numbers->places);
    int rc = numbers->places == NULL ? nb_error_no_memory(error)
                                     : nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        rc = read_places(&view, id, count, numbers, error);
        nb_store_snapshot_end(&view);
    }
    if (rc != 0) {
        free(numbers->places);
        *numbers = (struct nb_staged_numbers){.count = 0};
    }
    return rc;
}

int nb_staged_next(struct nb_staged_numbers *n, uint64_t *number, struct nb_error *error)
{
    if (n->used == NB_STAGED_ENTRIES) {
        n->piece++;
        n->used = 0;
    }
    if (n->piece >= n->count)
        return nb_error_set(error, NB_TOO_LARGE,
                            "the model has more documents than when it was asked for: ask again");
    *number = n->places[n->piece] + ++n->used;
    return 0;
}

int nb_staged_read(struct nb_engine *engine, struct nb_string id, size_t piece,
                   struct nb_buffer *bytes, struct nb_error *error)
{
    struct nb_view view;
    struct nb_string found;
    uint64_t place;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = get_piece(&view, id, piece, &place, &found, error);
    bytes->length = 0;
    if (rc == 0 && nb_buffer_append(bytes, found.bytes, found.length) != 0)
        rc = nb_error_no_memory(error);
    nb_store_snapshot_end(&view);
    return rc;
}

struct scanning {
    unsigned stream;
    nb_store_visit *visit;
    void *user;
    unsigned of; /* the stream of the import whose head was found last */
};

/* The head of an import comes before its pieces. */
static int scan_one(void *user, struct nb_string key, struct nb_string value,
                    struct nb_error *error)
{
    struct scanning *s = user;
    struct head head;
    if (is_head(key)) {
        int rc = head_of(value, &head, error);
        if (rc != 0)
            return rc;
        s->of = head.stream;
    }
    return s->of == s->stream ? s->visit(s->user, key, value, error) : 0;
}

int nb_staged_scan(const struct nb_view *view, unsigned stream, nb_store_visit *visit, void *user,
                   struct nb_error *error)
{
    const struct nb_string prefix = nb_string_of(PREFIX);
    struct scanning s = {stream, visit, user, UINT_MAX};
    return nb_store_scan(view, NB_TABLE_META, prefix, prefix.length, scan_one, &s, error);
}
