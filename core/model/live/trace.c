/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/trace.h"

#include "core/base/key.h"
#include "core/base/pack.h"
#include "core/model/live/state.h"

enum {
    KEY_BYTES = 14,
    PREFIX_BYTES = 6, /* of a stream */
    DROPPED_MOST = 64 /* with one transaction */
};

static struct nb_string key_of(unsigned stream, uint64_t position, char key[KEY_BYTES])
{
    uint64_t big = htobe64(position);
    memcpy(key, "trace", PREFIX_BYTES - 1);
    key[PREFIX_BYTES - 1] = (char)stream;
    memcpy(key + PREFIX_BYTES, &big, sizeof big);
    return (struct nb_string){key, KEY_BYTES};
}

uint64_t nb_trace_checksum(struct nb_string id, struct nb_string message)
{
    const uint64_t parts[] = {htole64(XXH3_64bits(id.bytes, id.length)),
                              htole64(XXH3_64bits(message.bytes, message.length))};
    return XXH3_64bits(parts, sizeof parts);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct oldest {
    uint64_t position, given;
};

static int read_row(struct nb_string key, struct nb_string value, struct nb_traced *one,
                    uint64_t *given, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    uint64_t big = 0;
    *given = nb_unpack_varint(&u);
    one->checksum = nb_unpack_u64(&u);
    one->id = nb_unpack_string(&u);
    if (u.failed || key.length != KEY_BYTES)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: its trace does not read back");
    memcpy(&big, key.bytes + PREFIX_BYTES, sizeof big);
    one->position = be64toh(big);
    one->message = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    return 0;
}

static int take_oldest(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct oldest *oldest = user;
    struct nb_traced one = {.position = 0};
    int rc = read_row(key, value, &one, &oldest->given, error);
    oldest->position = one.position;
    return rc == 0 ? 1 : rc;
}

static int drop(const struct nb_stream_place *place, unsigned stream, const struct nb_view *view,
                struct nb_error *error)
{
    struct oldest oldest;
    char key[KEY_BYTES];
    for (int i = 0; i < DROPPED_MOST; i++) {
        int rc = nb_store_scan(view, NB_TABLE_META, key_of(stream, 0, key), PREFIX_BYTES,
                               take_oldest, &oldest, error);
        if (rc <= 0)
            return rc;
        if (place->traced - oldest.given <= NB_TRACE_BYTES)
            return 0;
        rc = nb_store_delete(view, NB_TABLE_META, key_of(stream, oldest.position, key), error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int nb_trace_write(const struct nb_stream_place *p, unsigned stream, const struct nb_view *view,
                   struct nb_error *error)
{
    struct nb_buffer row = {0};
    char key[KEY_BYTES];
    uint64_t given = p->traced;
    int rc = 0;
    for (size_t i = p->fresh_count; i > 0; i--)
        given -= p->fresh[i - 1].message.length;
    for (size_t i = 0; rc == 0 && i < p->fresh_count; i++) {
        const struct nb_traced *one = &p->fresh[i];
        struct nb_packer w = {.out = &row};
        row.length = 0;
        nb_pack_varint(&w, given);
        nb_pack_u64(&w, one->checksum);
        nb_pack_string(&w, one->id);
        nb_pack_bytes(&w, one->message.bytes, one->message.length);
        given += one->message.length;
        rc = w.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, key_of(stream, one->position, key),
                                        nb_buffer_string(&row), error);
    }
    nb_buffer_deinit(&row);
    return rc != 0 || p->traced <= NB_TRACE_BYTES ? rc : drop(p, stream, view, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct scan {
    nb_trace_visit *visit;
    void *user;
};

static int visit_row(void *user, struct nb_string key, struct nb_string value,
                     struct nb_error *error)
{
    const struct scan *scan = user;
    struct nb_traced one;
    uint64_t given;
    int rc = read_row(key, value, &one, &given, error);
    return rc == 0 ? scan->visit(scan->user, &one, error) : rc;
}

int nb_trace_scan(struct nb_engine *engine, unsigned stream, uint64_t from, nb_trace_visit *visit,
                  void *user, struct nb_error *error)
{
    struct scan scan = {visit, user};
    struct nb_view view;
    char key[KEY_BYTES];
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_scan(&view, NB_TABLE_META, key_of(stream, from, key), PREFIX_BYTES, visit_row,
                       &scan, error);
    nb_store_snapshot_end(&view);
    return rc;
}
