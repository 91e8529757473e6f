/* SPDX-License-Identifier: Apache-2.0
 *
 * Restoring: writes the values of a backup into a new store in the folder `restore` of the data
 * directory, verifies that store, and then moves its data.mdb into place in one step.
 */
#include "core/archive/repair/restore.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/archive/backup/format.h"
#include "core/archive/repair/repair.h"
#include "core/engine/opening.h"
#include "core/model/relayed.h"
#include "core/store/store.h"

int nb_folder_check_path(const char *directory, struct nb_error *error)
{
    if (strlen(directory) > NB_FOLDER_PATH - 2 * NB_FOLDER_NAME)
        return nb_error_set(error, NB_UNUSABLE, "the data directory's path is too long");
    return 0;
}

void nb_folder_join(char path[NB_FOLDER_PATH], const char *folder, const char *name)
{
    int length = snprintf(path, NB_FOLDER_PATH, "%s/%s", folder, name);
    assert(length > 0 && length < NB_FOLDER_PATH);
    (void)length;
}

int nb_folder_clear(const char *folder, struct nb_error *error)
{
    static const char *const names[] = {"data.mdb", "journal", "lock.mdb", "lock"};
    char path[NB_FOLDER_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        nb_folder_join(path, folder, names[i]);
        if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
            return nb_error_errno(error, errno, path);
    }
    if (rmdir(folder) != 0 && errno != ENOENT)
        return nb_error_errno(error, errno, folder);
    return 0;
}

/* Makes new names in the folder durable. */
static int folder_sync(const char *folder, struct nb_error *error)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = file < 0 || fsync(file) != 0 ? nb_error_errno(error, errno, folder) : 0;
    if (file >= 0)
        close(file);
    return rc;
}

/* A link keeps the old file as data.mdb.old; the rename then replaces data.mdb in one step. The old
 * journal becomes journal.old. (If a crash prevents that, the new store recognizes that the journal
 * belongs to another store.) */
int nb_folder_swap(const char *directory, const char *fresh, struct nb_error *error)
{
    char now[NB_FOLDER_PATH];
    char old[NB_FOLDER_PATH];
    char made[NB_FOLDER_PATH];
    char journal[NB_FOLDER_PATH];
    char old_journal[NB_FOLDER_PATH];
    nb_folder_join(now, directory, "data.mdb");
    nb_folder_join(old, directory, "data.mdb.old");
    nb_folder_join(made, fresh, "data.mdb");
    nb_folder_join(journal, directory, "journal");
    nb_folder_join(old_journal, directory, "journal.old");
    if ((unlink(old) != 0 && errno != ENOENT) || (link(now, old) != 0 && errno != ENOENT))
        return nb_error_errno(error, errno, old);
    if (rename(made, now) != 0)
        return nb_error_errno(error, errno, now);
    if (rename(journal, old_journal) != 0 && errno != ENOENT)
        return nb_error_errno(error, errno, journal);
    return folder_sync(directory, error);
}

/* ---- filling a store ------------------------------------------------------------------------- */

enum { TRANSACTION_BYTES = 16 << 20 };

int nb_filling_room(struct nb_filling *f, uint64_t bytes, struct nb_error *error)
{
    int rc = 0;
    if (f->view.transaction != NULL && bytes <= f->room) {
        f->room -= bytes;
        return 0;
    }
    if (f->view.transaction != NULL)
        rc = nb_store_commit(&f->view, error);
    f->room = bytes > TRANSACTION_BYTES ? bytes : TRANSACTION_BYTES;
    if (rc == 0)
        rc = nb_store_begin(f->store, f->room, &f->view, error);
    f->room -= bytes;
    return rc;
}

int nb_filling_end(struct nb_filling *f, int rc, struct nb_error *error)
{
    if (rc == 0 && f->view.transaction != NULL)
        rc = nb_store_commit(&f->view, error);
    nb_store_abort(&f->view);
    return rc;
}

/* ---- the place of a store -------------------------------------------------------------------- */

/* Locks the store in the directory. *lock stays -1 if no daemon has ever run there. */
static int lock_store(const char *directory, int *lock, struct nb_error *error)
{
    char path[NB_FOLDER_PATH];
    nb_folder_join(path, directory, "lock");
    *lock = open(path, O_RDWR | O_CLOEXEC);
    if (*lock < 0 && errno != ENOENT)
        return nb_error_errno(error, errno, path);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0)
        return nb_error_set(error, NB_LOCKED, "%s is in use by another bayesd", directory);
    return 0;
}

int nb_engine_replace(const char *directory, const char *fresh, bool *replaced,
                      struct nb_error *error)
{
    char made[NB_FOLDER_PATH];
    char rest[NB_FOLDER_PATH];
    int lock = -1;
    int rc = nb_folder_check_path(fresh, error);
    *replaced = false;
    if (rc != 0)
        return rc;
    nb_folder_join(made, fresh, "data.mdb");
    nb_folder_join(rest, fresh, "restore");
    if (access(made, F_OK) != 0)
        return 0;
    rc = lock_store(directory, &lock, error);
    if (rc == 0)
        rc = nb_folder_swap(directory, fresh, error);
    if (rc == 0) {
        *replaced = true;
        (void)nb_folder_clear(rest, NULL); /* a later call tries again */
        (void)nb_folder_clear(fresh, NULL);
    }
    if (lock >= 0)
        close(lock);
    return rc;
}

enum { READ_BYTES = 1 << 20, VALUE_EXTRA = 64 };

static const char FOLDER[] = "restore";

struct restore {
    int directory; /* descriptor, locked */
    struct nb_filling filling;
    uint64_t bytes; /* bytes of the backup */
};

/* ---- values ---------------------------------------------------------------------------------- */

static int begin(void *user, uint64_t format, struct nb_error *error)
{
    (void)user;
    if (format >= NB_STORE_OLDEST_FORMAT && format <= NB_STORE_FORMAT)
        return 0;
    return nb_error_set(error, NB_VERSION,
                        "the backup is of store format %llu, this bayesd reads %d to %d: restore "
                        "it with the bayesd that wrote it",
                        (unsigned long long)format, NB_STORE_OLDEST_FORMAT, NB_STORE_FORMAT);
}

static int find_table(struct nb_string name, enum nb_table *table, struct nb_error *error)
{
    for (int i = 0; i < NB_TABLES; i++)
        if (nb_string_equals(name, nb_store_table_name((enum nb_table)i))) {
            *table = (enum nb_table)i;
            return 0;
        }
    return nb_error_set(error, NB_VERSION,
                        "the backup has a table '%.*s', which this bayesd does not know: use a "
                        "newer one",
                        (int)(name.length < 60 ? name.length : 60), name.bytes);
}

static int put_value(void *user, struct nb_string name, struct nb_string key,
                     struct nb_string value, struct nb_error *error)
{
    struct restore *r = user;
    enum nb_table table = NB_TABLES;
    int rc = find_table(name, &table, error);
    if (rc == 0 && (key.length == 0 || key.length > NB_STORE_KEY_MOST))
        return nb_error_set(error, NB_CORRUPT, "the backup is damaged: a key of %zu bytes",
                            key.length);
    if (rc == 0)
        rc = nb_filling_room(&r->filling, key.length + value.length + VALUE_EXTRA, error);
    if (rc != 0)
        return rc;
    /* In META keys cannot be appended, because it already has the number of the format. */
    rc = table == NB_TABLE_META ? nb_store_put(&r->filling.view, table, key, value, error)
                                : nb_store_append(&r->filling.view, table, key, value, error);
    return rc == NB_EXISTS
               ? nb_error_set(error, NB_CORRUPT, "the backup is damaged: table %s is out of order",
                              nb_store_table_name(table))
               : rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_file(int file, const char *name, struct restore *r, struct nb_error *error)
{
    const struct nb_backup_sink sink = {begin, put_value, r};
    struct nb_backup_reader reader;
    ssize_t length = 0;
    int rc = 0;
    char *bytes = malloc(READ_BYTES);
    nb_backup_reader_init(&reader, &sink);
    if (bytes == NULL)
        rc = nb_error_no_memory(error);
    while (rc == 0 && (length = read(file, bytes, READ_BYTES)) != 0) {
        if (length < 0 && errno != EINTR)
            rc = nb_error_errno(error, errno, name);
        else if (length > 0)
            rc = nb_backup_read(&reader, bytes, (size_t)length, error);
        r->bytes += length > 0 ? (uint64_t)length : 0;
    }
    if (rc == 0)
        rc = nb_backup_read_end(&reader, error);
    nb_backup_reader_deinit(&reader);
    free(bytes);
    return rc;
}

static int fill_store(int file, const char *name, const char *folder, uint64_t map_size,
                      struct restore *r, struct nb_error *error)
{
    int rc = nb_store_open(folder, map_size, &r->filling.store, error);
    if (rc != 0)
        return rc;
    nb_store_limit_journal(r->filling.store, 0); /* only data.mdb is moved from the folder */
    rc = read_file(file, name, r, error);
    rc = nb_filling_end(&r->filling, rc, error);
    nb_store_close(&r->filling.store);
    return rc == NB_STORE_MAP_FULL ? nb_error_set(error, NB_IO, "%s", error->text) : rc;
}

/* ---- the directory --------------------------------------------------------------------------- */

/* Whether an empty data directory may contain this name: leftovers of an interrupted restore,
 * folders at the top of file systems, and the access tokens, which are in no backup and must exist
 * before the daemon starts. */
static bool is_nothing(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, FOLDER) == 0 ||
           strcmp(name, "lost+found") == 0 || strcmp(name, "tokens") == 0;
}

static int check_empty(const char *directory, struct nb_error *error)
{
    DIR *stream = opendir(directory);
    const struct dirent *entry;
    if (stream == NULL)
        return nb_error_errno(error, errno, directory);
    int rc = 0;
    while (rc == 0 && (entry = readdir(stream)) != NULL)
        if (!is_nothing(entry->d_name))
            rc = nb_error_set(error, NB_CONFLICT,
                              "%s is not empty, it has '%s': restore into an empty directory, then "
                              "put it in the place of the old one",
                              directory, entry->d_name);
    (void)closedir(stream); /* the directory was only read */
    return rc;
}

/* Makes the directory if it is missing, and locks it, so that only one restore runs at a time. */
static int open_directory(const char *directory, struct restore *r, struct nb_error *error)
{
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return nb_error_errno(error, errno, directory);
    r->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->directory < 0)
        return nb_error_errno(error, errno, directory);
    if (flock(r->directory, LOCK_EX | LOCK_NB) != 0)
        return nb_error_set(error, NB_LOCKED, "another bayesd restores into %s", directory);
    return check_empty(directory, error);
}

/* Moves data.mdb into place by a link, not by a rename, which would replace a store that a daemon
 * has made meanwhile. */
static int put_in_place(const char *directory, const char *folder, struct nb_error *error)
{
    char made[NB_FOLDER_PATH];
    char place[NB_FOLDER_PATH];
    nb_folder_join(made, folder, "data.mdb");
    nb_folder_join(place, directory, "data.mdb");
    if (link(made, place) != 0)
        return nb_error_errno(error, errno, place);
    return folder_sync(directory, error);
}

/* ---- a node's store -------------------------------------------------------------------------- */

static int check_stream_states(const struct nb_engine *engine, const struct nb_node_wanted *wanted,
                               struct nb_error *error)
{
    const struct nb_stream_states *s = &engine->stream_states;
    if (!s->is_known)
        return nb_error_set(error, NB_CONFLICT,
                            "its store follows no stream yet, or has no [nodes]; name a node whose "
                            "/readyz says \"connected\"");
    if (s->streams != engine->settings.streams)
        return nb_error_set(error, NB_CONFLICT,
                            "its store belongs to %u streams, and [nodes] streams is %u here",
                            s->streams, engine->settings.streams);
    if (!nb_stream_states_has_caught_up(engine, wanted->streams))
        return nb_error_set(error, NB_CONFLICT,
                            "it does not have all streams that [nodes] follow names here, or has "
                            "not caught up with them");
    return 0;
}

/* Checks the requirements for a node's store, before the verification, which takes longer. */
static int check_node(const struct nb_engine_settings *made, const struct nb_node_wanted *wanted,
                      struct nb_error *error)
{
    struct nb_engine *engine;
    int rc = nb_engine_open_existing(made, &engine, error);
    if (rc != 0)
        return rc;
    rc = check_stream_states(engine, wanted, error);
    nb_engine_close(&engine);
    return rc;
}

/* ---- the whole job --------------------------------------------------------------------------- */

/* Fills the folder and verifies its store. Returns as nb_engine_verify. */
static int make(const struct nb_engine_settings *made, int file, const char *name,
                const struct nb_node_wanted *wanted, struct restore *r, nb_report_line *report,
                void *user, struct nb_error *error)
{
    int rc = fill_store(file, name, made->directory, made->map_size, r, error);
    if (rc == 0 && wanted != NULL)
        rc = check_node(made, wanted, error);
    if (rc == 0)
        rc = nb_engine_verify(made, report, user, error);
    if (rc > 0 && wanted != NULL)
        rc = nb_error_set(error, NB_CORRUPT,
                          "its store differs from its ledger: bayesd --rebuild mends it there; "
                          "take the snapshot of another node");
    return rc;
}

static int restore(const struct nb_engine_settings *settings, int file, const char *name,
                   const struct nb_node_wanted *wanted, nb_report_line *report, void *user,
                   struct nb_error *error)
{
    char folder[NB_FOLDER_PATH];
    struct restore r = {.directory = -1};
    struct nb_engine_settings made = *settings;
    int differs = 0;
    nb_folder_join(folder, settings->directory, FOLDER);
    made.directory = folder;
    int rc = open_directory(settings->directory, &r, error);
    bool is_ours = rc == 0;
    if (rc == 0)
        rc = nb_folder_clear(folder, error);
    if (rc == 0)
        differs = make(&made, file, name, wanted, &r, report, user, error);
    if (rc == 0 && differs < 0)
        rc = differs;
    if (rc == 0)
        rc = put_in_place(settings->directory, folder, error);
    if (is_ours)
        (void)nb_folder_clear(folder, NULL); /* the next restore tries again */
    if (r.directory >= 0)
        close(r.directory);
    return rc != 0 ? rc : differs;
}

int nb_engine_restore(const struct nb_engine_settings *settings, const char *name,
                      nb_report_line *report, void *user, struct nb_error *error)
{
    int rc = nb_folder_check_path(settings->directory, error);
    if (rc != 0)
        return rc;
    int file = strcmp(name, "-") == 0 ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return nb_error_errno(error, errno, name);
    rc = restore(settings, file, name, NULL, report, user, error);
    close(file);
    return rc;
}

int nb_engine_restore_node(const struct nb_engine_settings *settings, int file, const char *name,
                           const struct nb_node_wanted *wanted, nb_report_line *report, void *user,
                           struct nb_error *error)
{
    int rc = nb_folder_check_path(settings->directory, error);
    return rc != 0 ? rc : restore(settings, file, name, wanted, report, user, error);
}
