/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's format, and opening its tables.
 */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/pack.h"
#include "core/store/lmdb/environment.h"
#include "core/store/lmdb/store_private.h"

static const struct nb_string FORMAT_KEY = {"format", 6};

/* ---- the format ------------------------------------------------------------------------------ */

static int refuse_format(const struct nb_store *store, uint64_t format, struct nb_error *error)
{
    if (format > NB_STORE_FORMAT)
        return nb_error_set(error, NB_VERSION,
                            "%s has store format %llu, this bayesd reads up to %d: use a newer "
                            "bayesd",
                            store->file.path, (unsigned long long)format, NB_STORE_FORMAT);
    return nb_error_set(error, NB_VERSION,
                        "%s has store format %llu, this bayesd reads %d: export every model with "
                        "the bayesd that wrote it, and import the files with this one into an "
                        "empty directory",
                        store->file.path, (unsigned long long)format, NB_STORE_FORMAT);
}

/* Format 1 had checksums over the value alone. */
static bool is_first_format(const MDB_val *v)
{
    const unsigned char *bytes = v->mv_data;
    uint64_t checksum;
    if (v->mv_size != 1 + NB_STORE_CHECKSUM_BYTES || bytes[0] != 1)
        return false;
    memcpy(&checksum, bytes + 1, sizeof checksum);
    return checksum == XXH3_64bits(bytes, 1);
}

static int check_format(const struct nb_view *view, struct nb_error *error)
{
    struct nb_store *store = view->store;
    MDB_val key = {.mv_size = FORMAT_KEY.length, .mv_data = (void *)(uintptr_t)FORMAT_KEY.bytes};
    MDB_val sealed;
    struct nb_string value;
    int rc = mdb_get(view->transaction, store->tables[NB_TABLE_META], &key, &sealed);
    if (rc == 0 && is_first_format(&sealed))
        return refuse_format(store, 1, error);
    rc = nb_store_get(view, NB_TABLE_META, FORMAT_KEY, &value, error);
    if ((rc == NB_NOT_FOUND || rc == NB_CORRUPT) && store->reading)
        return 0; /* for a rebuild, which makes it anew; entries say their own version */
    if (rc == NB_NOT_FOUND || rc == NB_CORRUPT)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged: its format's number does not read back; run bayesd "
                            "--rebuild",
                            store->file.path);
    if (rc != 0)
        return rc;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    uint64_t format = nb_unpack_varint(&r);
    if (r.failed || format == 0)
        return nb_error_set(error, NB_CORRUPT, "%s: the format's number is damaged",
                            store->file.path);
    return format == NB_STORE_FORMAT ? 0 : refuse_format(store, format, error);
}

static int put_format(const struct nb_view *view, struct nb_error *error)
{
    static const char format[] = {NB_STORE_FORMAT};
    return nb_store_put(view, NB_TABLE_META, FORMAT_KEY, (struct nb_string){format, 1}, error);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int open_table(const struct nb_view *view, enum nb_table table, bool create,
                      struct nb_error *error)
{
    struct nb_store *store = view->store;
    int rc = mdb_dbi_open(view->transaction, nb_store_table_names[table], create ? MDB_CREATE : 0,
                          &store->tables[table]);
    if (rc == MDB_NOTFOUND)
        return nb_error_set(error, NB_CORRUPT, "%s is damaged: it has no table %s",
                            store->file.path, nb_store_table_names[table]);
    return nb_environment_error(error, rc, store->file.path);
}

int nb_store_open_tables(const struct nb_view *view, bool create, struct nb_error *error)
{
    int rc = open_table(view, NB_TABLE_META, create, error);
    if (rc == 0)
        rc = create ? put_format(view, error) : check_format(view, error);
    if (rc == 0 && !view->store->reading)
        rc = nb_recording_identify(view, error);
    if (rc == 0 && view->store->unknown_table[0] != '\0')
        rc =
            nb_error_set(error, NB_CORRUPT,
                         "%s is damaged: it has a table '%s' that does not exist; restore a backup",
                         view->store->file.data_path, view->store->unknown_table);
    for (int i = 0; rc == 0 && i < NB_TABLES; i++)
        if (i != NB_TABLE_META && (view->store->damaged >> i & 1u) == 0)
            rc = open_table(view, (enum nb_table)i, create, error);
    return rc;
}
