/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the journal when a store is opened, and ends its use when the store is closed.
 */
#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "core/base/pack.h"
#include "core/store/store_private.h"

/* The key in META of the store's identity, a random number that its journal contains. */
static const struct nb_string IDENTITY_KEY = {"journal", 7};

static int load_change(void *user, const struct nb_recent_change *change)
{
    struct nb_store *store = user;
    struct nb_recent_change sealed = *change;
    if (change->table >= NB_TABLES || change->key.length > NB_STORE_KEY_MOST)
        return NB_CORRUPT;
    int rc = change->deleted ? 0
                             : nb_store_seal(store, (enum nb_table)change->table, change->key,
                                             change->value, &sealed.value, NULL);
    return rc != 0 ? rc : nb_recent_add(store->recent, &sealed);
}

/* Reports that the identity cannot be read. The store is refused, because its journal, which cannot
 * be recognized without the identity, may have changes. */
static int lost_identity(const struct nb_store *store, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "%s is damaged: the store's identity does not read back; run bayesd "
                        "--rebuild",
                        store->file.path);
}

static int draw_identity(uint64_t *identity, struct nb_error *error)
{
    *identity = 0;
    while (*identity == 0)
        if (getrandom(identity, sizeof *identity, 0) != (ssize_t)sizeof *identity)
            return nb_error_errno(error, errno, "drawing the store's identity");
    return 0;
}

int nb_recording_identify(const struct nb_view *view, struct nb_error *error)
{
    struct nb_string value;
    struct nb_error damage;
    uint64_t identity;
    int rc = nb_store_get(view, NB_TABLE_META, IDENTITY_KEY, &value, error);
    if (rc == NB_CORRUPT || (rc == NB_NOT_FOUND && nb_store_met_damage(view->store, &damage)))
        return lost_identity(view->store, error);
    if (rc == NB_NOT_FOUND)
        rc = draw_identity(&identity, error);
    else
        return rc;
    identity = htole64(identity);
    return rc != 0
               ? rc
               : nb_store_put(view, NB_TABLE_META, IDENTITY_KEY,
                              (struct nb_string){(const char *)&identity, sizeof identity}, error);
}

/* Returns the store's identity; 0 if it cannot be read. */
static uint64_t read_identity(struct nb_store *store)
{
    struct nb_view view;
    struct nb_string value;
    uint64_t identity = 0;
    if (nb_store_snapshot(store, &view, NULL) != 0)
        return 0;
    if (nb_store_get(&view, NB_TABLE_META, IDENTITY_KEY, &value, NULL) == 0) {
        struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
        identity = nb_unpack_u64(&r);
    }
    nb_store_snapshot_end(&view);
    return identity;
}

/* Decides whether the store may be used with this journal. If the store is opened for reading only,
 * to save its data, changes behind damage in the journal are left out without an error. */
static int judge(struct nb_store *store, const struct nb_journal_found *found,
                 struct nb_error *error)
{
    store->journal_foreign = found->is_foreign;
    if (store->reading)
        return 0;
    if (found->is_later)
        return nb_error_set(error, NB_CORRUPT,
                            "%s has changes that came after a later state of data.mdb than it has: "
                            "put the right data.mdb in its place; or, if this one is meant, remove "
                            "the journal",
                            store->file.journal_path);
    if (found->is_damaged)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged at byte %lld, and changes lie behind it: restore a "
                            "backup, or run bayesd --rebuild, which keeps what comes before",
                            store->file.journal_path, (long long)store->journal.at);
    return 0;
}

static int read_journal(struct nb_store *store, struct nb_error *error)
{
    struct nb_journal_found found;
    int rc = nb_journal_read(&store->journal, store->committed, load_change, store, &found, error);
    store->journal_found = found;
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == NB_CORRUPT)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged: a record cannot be read; restore a backup, or run "
                            "bayesd --rebuild",
                            store->file.journal_path);
    if (rc == 0)
        rc = judge(store, &found, error);
    if (rc == 0)
        store->recent_last = nb_recent_last(store->recent);
    return rc;
}

int nb_recording_load(struct nb_store *store, struct nb_error *error)
{
    int file = -1;
    uint64_t identity = read_identity(store);
    store->recent_base = store->committed;
    store->recent = nb_recent_new();
    if (store->recent == NULL)
        return nb_error_no_memory(error);
    int rc = nb_store_file_journal(&store->file, false, &file, error);
    nb_journal_init(&store->journal, file, store->file.journal_path, identity);
    nb_journal_begin(&store->journal, store->committed);
    assert(identity != 0 || store->reading);
    if (rc == 0 && file >= 0)
        rc = read_journal(store, error);
    store->journal_loaded = rc == 0;
    return rc;
}

void nb_recording_unload(struct nb_store *store, bool whole)
{
    if (whole && store->journal_loaded && store->journal.file >= 0 && !store->journal_foreign)
        nb_store_file_remove_journal(&store->file, false);
    nb_store_file_close_journal(&store->journal.file);
    nb_journal_deinit(&store->journal);
    nb_recent_unref(&store->recent);
    nb_recent_unref(&store->spare);
}

bool nb_store_met_journal(const struct nb_store *store, struct nb_error *what, bool *is_cut)
{
    const struct nb_journal_found *found = &store->journal_found;
    *is_cut = found->is_cut;
    if (found->records == 0 && !found->is_cut)
        return false;
    (void)nb_error_set(what, NB_CORRUPT, "%s: %llu records were read, %lld of %lld bytes%s",
                       store->file.journal_path, (unsigned long long)found->records,
                       (long long)found->end, (long long)found->size,
                       found->is_cut ? "; the file was cut short or its last record is not whole: "
                                       "changes that came after these may be missing"
                                     : "");
    return true;
}

void nb_store_limit_journal(struct nb_store *store, uint64_t bytes)
{
    store->journal_most = bytes;
}
