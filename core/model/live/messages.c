/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/messages.h"

#include <string.h>

#include "core/base/key.h"
#include "core/base/pack.h"
#include "core/model/live/state.h"

enum {
    NAME_BYTES = 5,
    PREFIX_BYTES = 6, /* with the byte of the stream */
    KEY_BYTES = 14
};

static struct nb_string key_of(enum nb_kept where, unsigned stream, uint64_t number,
                               char key[KEY_BYTES])
{
    static const char *const names[] = {
        [NB_KEPT_TRACE] = "trace", [NB_KEPT_QUEUE] = "queue", [NB_KEPT_PART] = "parts"};
    uint64_t big = htobe64(number);
    memcpy(key, names[where], NAME_BYTES);
    key[NAME_BYTES] = (char)stream;
    memcpy(key + PREFIX_BYTES, &big, sizeof big);
    return (struct nb_string){key, KEY_BYTES};
}

uint64_t nb_message_checksum(struct nb_string id, struct nb_string message)
{
    const uint64_t parts[] = {htole64(XXH3_64bits(id.bytes, id.length)),
                              htole64(XXH3_64bits(message.bytes, message.length))};
    return XXH3_64bits(parts, sizeof parts);
}

int nb_message_put(const struct nb_view *view, enum nb_kept where, unsigned stream,
                   const struct nb_traced *one, struct nb_error *error)
{
    struct nb_buffer row = {0};
    struct nb_packer w = {.out = &row};
    char key[KEY_BYTES];
    nb_pack_u64(&w, one->checksum);
    nb_pack_string(&w, one->id);
    nb_pack_bytes(&w, one->message.bytes, one->message.length);
    int rc = w.code != 0
                 ? nb_error_no_memory(error)
                 : nb_store_put(view, NB_TABLE_META, key_of(where, stream, one->position, key),
                                nb_buffer_string(&row), error);
    nb_buffer_deinit(&row);
    return rc;
}

int nb_message_delete(const struct nb_view *view, enum nb_kept where, unsigned stream,
                      uint64_t number, struct nb_error *error)
{
    char key[KEY_BYTES];
    return nb_store_delete(view, NB_TABLE_META, key_of(where, stream, number, key), error);
}

int nb_message_drop(const struct nb_view *view, enum nb_kept where, unsigned stream, size_t most,
                    struct nb_error *error)
{
    char key[KEY_BYTES];
    struct nb_string first = key_of(where, stream, 0, key);
    size_t deleted;
    return nb_store_clear(view, NB_TABLE_META, (struct nb_string){first.bytes, PREFIX_BYTES}, most,
                          &deleted, error);
}

struct walk {
    nb_message_visit *visit;
    void *user;
};

static int visit_row(void *user, struct nb_string key, struct nb_string value,
                     struct nb_error *error)
{
    const struct walk *walk = user;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    struct nb_traced one;
    uint64_t big = 0;
    one.checksum = nb_unpack_u64(&u);
    one.id = nb_unpack_string(&u);
    if (u.failed || key.length != KEY_BYTES)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a message of nodes does not read back");
    memcpy(&big, key.bytes + PREFIX_BYTES, sizeof big);
    one.position = be64toh(big);
    one.message = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    return walk->visit(walk->user, &one, error);
}

int nb_message_walk(const struct nb_view *view, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error)
{
    struct walk walk = {visit, user};
    char key[KEY_BYTES];
    return nb_store_scan(view, NB_TABLE_META, key_of(where, stream, from, key), PREFIX_BYTES,
                         visit_row, &walk, error);
}

int nb_message_scan(struct nb_engine *engine, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_message_walk(&view, where, stream, from, visit, user, error);
    nb_store_snapshot_end(&view);
    return rc;
}
