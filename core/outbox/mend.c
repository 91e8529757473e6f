/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/outbox/outbox.h"
#include "core/outbox/outbox_file.h"

static bool is_left(int directory)
{
    struct stat status;
    return fstatat(directory, "outbox", &status, 0) == 0 && status.st_size > NB_OUTBOX_START;
}

bool nb_outbox_is_left(const char *folder)
{
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = directory >= 0 && is_left(directory);
    if (directory >= 0)
        (void)close(directory); /* nothing was written to it */
    return found;
}

/* ---- what can be read ------------------------------------------------------------------------ */

/* Appends the entry at `o->end`, if there is a whole one. */
static int keep_one(struct nb_outbox *o, uint64_t size, struct nb_buffer *out, bool *is_kept)
{
    struct nb_buffer message = {0};
    struct nb_outbox_record record;
    int rc = nb_outbox_entry_read(o, o->end, size, &record, &message);
    *is_kept = rc == 0 && record.entry >= o->next;
    if (*is_kept) {
        rc = nb_outbox_entry_write(o, nb_buffer_string(&message), record.entry, out->length,
                                   &o->before, out);
        o->end += NB_OUTBOX_RECORD + record.length;
        o->next = record.entry + 1;
    }
    nb_buffer_deinit(&message);
    return rc == NB_CORRUPT ? 0 : rc;
}

/* Appends all entries that are whole. */
static int keep(struct nb_outbox *o, uint64_t size, struct nb_buffer *out,
                struct nb_outbox_mended *mended, struct nb_error *error)
{
    int rc = 0;
    o->end = NB_OUTBOX_START;
    o->next = 1;
    o->before = 0;
    while (rc == 0 && o->end < size) {
        struct nb_outbox_record record;
        bool is_kept;
        uint64_t at = size;
        rc = keep_one(o, size, out, &is_kept);
        mended->kept += is_kept;
        if (rc != 0 || is_kept)
            continue;
        rc = nb_outbox_file_look(o, size, 0, &at, &record, error);
        if (rc == 0 && at < size) /* of the first entry nobody knows the number */
            mended->lost += mended->kept > 0 ? record.entry - o->next : 1;
        o->end = at;
    }
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error)
                              : (rc == NB_IO ? nb_outbox_unreadable(error) : rc);
}

/* ---- the new file ---------------------------------------------------------------------------- */

/* Puts it in the place of the old one, which stays as outbox.old. */
static int put(int directory, struct nb_string bytes, struct nb_error *error)
{
    struct nb_outbox made = {
        .file = openat(directory, "outbox.new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    struct stat owner;
    if (made.file < 0)
        return nb_error_errno(error, errno, "outbox.new");
    bool failed = fstat(directory, &owner) != 0 ||
                  (geteuid() == 0 && fchown(made.file, owner.st_uid, owner.st_gid) != 0);
    int rc = failed ? nb_error_errno(error, errno, "outbox.new")
                    : nb_outbox_write_at(&made, bytes, 0, error);
    (void)close(made.file); /* it was synced */
    if (rc != 0)
        return rc;
    failed = (unlinkat(directory, "outbox.old", 0) != 0 && errno != ENOENT) ||
             linkat(directory, "outbox", directory, "outbox.old", 0) != 0 ||
             renameat(directory, "outbox.new", directory, "outbox") != 0 || fsync(directory) != 0;
    return failed ? nb_error_errno(error, errno, "outbox.old") : 0;
}

static int mend(struct nb_outbox *o, int directory, struct nb_outbox_mended *mended,
                struct nb_error *error)
{
    struct nb_buffer out = {0};
    uint64_t size = 0;
    int rc = nb_outbox_file_read(o, &size, error);
    if (rc != 0)
        return rc;
    rc = size > o->end ? nb_outbox_file_check(o, size, error) : 0;
    mended->is_damaged = rc == NB_CORRUPT;
    if (rc != NB_CORRUPT)
        return rc;
    rc = nb_outbox_head_write(o, &out) != 0 ? nb_error_no_memory(error)
                                            : keep(o, size, &out, mended, error);
    if (rc == 0)
        rc = put(directory, nb_buffer_string(&out), error);
    nb_buffer_deinit(&out);
    return rc;
}

int nb_outbox_mend(const char *folder, struct nb_outbox_mended *mended, struct nb_error *error)
{
    struct nb_outbox o = {.file = -1};
    *mended = (struct nb_outbox_mended){.kept = 0};
    if (!nb_outbox_is_left(folder))
        return 0;
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return nb_error_errno(error, errno, folder);
    int rc = nb_outbox_file_open(&o, folder, error);
    if (rc == 0)
        rc = mend(&o, directory, mended, error);
    if (o.file >= 0)
        (void)close(o.file); /* it was only read */
    (void)close(directory);
    return rc;
}
