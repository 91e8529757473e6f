/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as they are stored: with a checksum at the end.
 */
#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/store/lmdb/store_private.h"

/* Table, key and value are hashed one after the other, each with the hash before it as its seed: no
 * byte can move from one to the other. */
static uint64_t checksum_of(const struct nb_store *store, enum nb_table table, struct nb_string key,
                            struct nb_string value)
{
    uint64_t seed = XXH3_64bits_withSeed(key.bytes, key.length, store->seeds[table]);
    uint64_t hash = XXH3_64bits(value.bytes, value.length);
    return XXH3_64bits_withSeed(&hash, sizeof hash, seed);
}

bool nb_store_unseal(const struct nb_store *store, enum nb_table table, struct nb_string key,
                     struct nb_string sealed, struct nb_string *value)
{
    uint64_t checksum;
    *value = (struct nb_string){"", 0};
    if (sealed.length < NB_STORE_CHECKSUM_BYTES)
        return false;
    *value = (struct nb_string){sealed.bytes, sealed.length - NB_STORE_CHECKSUM_BYTES};
    memcpy(&checksum, value->bytes + value->length, sizeof checksum);
    return checksum == checksum_of(store, table, key, *value);
}

bool nb_store_is_sound(const void *store, unsigned table, struct nb_string key,
                       struct nb_string sealed)
{
    struct nb_string value;
    assert(table < NB_TABLES);
    return nb_store_unseal(store, (enum nb_table)table, key, sealed, &value);
}

int nb_store_seal(struct nb_store *store, enum nb_table table, struct nb_string key,
                  struct nb_string value, struct nb_string *sealed, struct nb_error *error)
{
    uint64_t checksum = checksum_of(store, table, key, value);
    store->sealed.length = 0;
    if (nb_buffer_append(&store->sealed, value.bytes, value.length) != 0 ||
        nb_buffer_append(&store->sealed, &checksum, sizeof checksum) != 0)
        return nb_error_no_memory(error);
    *sealed = nb_buffer_string(&store->sealed);
    return 0;
}
