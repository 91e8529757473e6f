/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of the tables, and their keys: numbers as big-endian bytes.
 */
#include <assert.h>
#include <string.h>

#include "core/store/lmdb/store_private.h"

const char *const nb_store_table_names[NB_TABLES] = {
    [NB_TABLE_META] = "meta",
    [NB_TABLE_MODELS] = "models",
    [NB_TABLE_STATE] = "state",
    [NB_TABLE_LABELS] = "labels",
    [NB_TABLE_LEDGER] = "ledger",
    [NB_TABLE_ENTRIES] = "entries",
    [NB_TABLE_ROWS] = "rows",
    [NB_TABLE_DOCUMENTS] = "documents",
    [NB_TABLE_WORDS] = "words",
    [NB_TABLE_WEIGHTS] = "weights",
    [NB_TABLE_SCORES] = "scores",
    [NB_TABLE_GARBAGE] = "garbage",
    [NB_TABLE_ORPHANS] = "orphans",
    [NB_TABLE_QUARANTINE] = "quarantine",
    [NB_TABLE_WAITING] = "waiting",
    [NB_TABLE_KEPT] = "kept",
    [NB_TABLE_TWIN] = "twin",
    [NB_TABLE_HISTORY] = "history",
    [NB_TABLE_HISTORY_IDS] = "history_ids",
};

const char *nb_store_table_name(enum nb_table table)
{
    assert(table < NB_TABLES);
    return nb_store_table_names[table];
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void put_number(struct nb_store_key *key, uint64_t number, unsigned bytes)
{
    assert(key->length + bytes <= sizeof key->bytes);
    for (unsigned i = bytes; i > 0; i--)
        key->bytes[key->length++] = (unsigned char)(number >> (8 * (i - 1)));
}

struct nb_store_key nb_store_key_model(uint32_t model)
{
    struct nb_store_key key = {.length = 0};
    put_number(&key, model, 4);
    return key;
}

struct nb_store_key nb_store_key_number(uint32_t model, uint32_t number)
{
    struct nb_store_key key = nb_store_key_model(model);
    put_number(&key, number, 4);
    return key;
}

struct nb_store_key nb_store_key_sequence(uint32_t model, uint64_t sequence)
{
    struct nb_store_key key = nb_store_key_model(model);
    put_number(&key, sequence, 8);
    return key;
}

struct nb_store_key nb_store_key_id(uint32_t model, struct nb_string id)
{
    struct nb_store_key key = nb_store_key_model(model);
    size_t length = id.length < sizeof key.bytes - 4 ? id.length : sizeof key.bytes - 4;
    if (length > 0)
        memcpy(key.bytes + 4, id.bytes, length);
    key.length += length;
    return key;
}

/* The big-endian number of `bytes` bytes at `from`; 0 if the key is too short. */
static uint64_t number_at(struct nb_string key, size_t from, size_t bytes)
{
    uint64_t number = 0;
    if (key.length < from + bytes)
        return 0;
    for (size_t i = from; i < from + bytes; i++)
        number = number << 8 | (unsigned char)key.bytes[i];
    return number;
}

uint32_t nb_store_key_head(struct nb_string key)
{
    return (uint32_t)number_at(key, 0, 4);
}

uint64_t nb_store_key_tail(struct nb_string key)
{
    return key.length <= 4 ? 0 : number_at(key, 4, key.length < 12 ? key.length - 4 : 8);
}

struct nb_store_key nb_store_key_entry(uint64_t number, uint16_t piece)
{
    struct nb_store_key key = {.length = 0};
    put_number(&key, number, 8);
    put_number(&key, piece, 2);
    return key;
}

uint64_t nb_store_key_entry_number(struct nb_string key)
{
    return number_at(key, 0, 8);
}

uint16_t nb_store_key_entry_piece(struct nb_string key)
{
    return (uint16_t)number_at(key, 8, 2);
}
