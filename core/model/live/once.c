/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/once.h"

#include <string.h>

#include "core/base/pack.h"
#include "core/model/live/relayed.h"
#include "core/model/live/state.h"

enum { KEY_BYTES = 15 };

struct once {
    uint64_t entry, position;
};

static struct nb_string key_of(uint64_t outbox, unsigned stream, char key[KEY_BYTES])
{
    memcpy(key, "outbox", 6);
    for (int i = 0; i < 8; i++)
        key[6 + i] = (char)(outbox >> (56 - 8 * i) & 0xFF);
    key[KEY_BYTES - 1] = (char)stream;
    return (struct nb_string){key, KEY_BYTES};
}

static int read_last(const struct nb_view *view, struct nb_string key, struct once *last,
                     struct nb_error *error)
{
    struct nb_string value;
    *last = (struct once){.entry = 0};
    int rc = nb_store_get(view, NB_TABLE_META, key, &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    last->entry = nb_unpack_varint(&u);
    last->position = nb_unpack_varint(&u);
    return nb_unpacker_done(&u)
               ? 0
               : nb_error_set(
                     error, NB_CORRUPT,
                     "the store is damaged: what was made of an outbox does not read back");
}

int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error)
{
    char bytes[KEY_BYTES];
    struct nb_string key = key_of(relayed->outbox, relayed->stream, bytes);
    struct once last;
    if (relayed->outbox == 0)
        return 0;
    int rc = read_last(view, key, &last, error);
    if (rc != 0 || (last.entry == relayed->entry && last.position == relayed->position))
        return rc; /* at the same position it is tried again */
    if (last.entry >= relayed->entry)
        return nb_error_set(error, NB_EXISTS, "a change that was queued was made already");
    struct nb_buffer value = {0};
    struct nb_packer w = {.out = &value};
    nb_pack_varint(&w, relayed->entry);
    nb_pack_varint(&w, relayed->position);
    rc = w.code != 0 ? nb_error_no_memory(error)
                     : nb_store_put(view, NB_TABLE_META, key, nb_buffer_string(&value), error);
    nb_buffer_deinit(&value);
    return rc;
}
