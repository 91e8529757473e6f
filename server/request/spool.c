/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/spool.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Once there is a file, pieces of this size are written. */
enum { WRITE_BYTES = 256 * 1024 };

/* Prefix of files that have a name for a moment. */
#define NAME ".bayesd-reply-"

static void remove_left(DIR *folder)
{
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, NAME, sizeof NAME - 1) == 0)
            (void)unlinkat(dirfd(folder), entry->d_name, 0); /* a file that stays does no harm */
    }
}

int nb_spool_prepare(const char *directory, struct nb_error *error)
{
    char what[256];
    (void)snprintf(what, sizeof what, "the directory of long replies %s (spool_directory)",
                   directory);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return nb_error_errno(error, errno, what);
    DIR *folder = opendir(directory);
    if (folder == NULL)
        return nb_error_errno(error, errno, what);
    remove_left(folder);
    (void)closedir(folder); /* was only read */
    return 0;
}

void nb_spool_init(struct nb_spool *spool, const char *directory, size_t memory,
                   struct nb_budget *budgets)
{
    *spool = (struct nb_spool){.directory = directory, .memory = memory, .file = -1};
    if (budgets != NULL) {
        spool->memory_hold.budget = &budgets[NB_BUDGET_REPLIES];
        spool->file_hold.budget = &budgets[NB_BUDGET_SPOOLS];
    }
}

void nb_spool_deinit(struct nb_spool *spool)
{
    nb_buffer_deinit(&spool->tail);
    if (spool->file >= 0)
        (void)close(spool->file); /* the file has no name: nothing can be lost */
    spool->file = -1;
    spool->written = 0;
    (void)nb_hold_set(&spool->memory_hold, 0, NULL); /* giving back never fails */
    (void)nb_hold_set(&spool->file_hold, 0, NULL);
}

void nb_spool_reset(struct nb_spool *spool)
{
    nb_spool_deinit(spool);
}

uint64_t nb_spool_length(const struct nb_spool *spool)
{
    return spool->written + spool->tail.length;
}

/* Opens a file without a name; on file systems that cannot make one, a file whose name is removed
 * at once. */
static int open_nameless(const char *directory)
{
    int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/" NAME "XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(path); /* a name that stays does no harm to the reply */
    return file;
}

/* Opens the file. The folder may have been removed since the start: then it is made again. The
 * error is never "not found", which would blame the client. */
static int open_file(struct nb_spool *spool, struct nb_error *error)
{
    spool->file = open_nameless(spool->directory);
    if (spool->file < 0 && errno == ENOENT && mkdir(spool->directory, 0700) == 0)
        spool->file = open_nameless(spool->directory);
    if (spool->file >= 0)
        return 0;
    int rc = nb_error_errno(error, errno,
                            "temporary file for a long reply, in the folder that the option "
                            "[server] spool_directory names");
    return rc == NB_NOT_FOUND ? nb_error_set(error, NB_IO,
                                             "temporary file for a long reply: its directory "
                                             "(spool_directory) is missing")
                              : rc;
}

static int write_tail(struct nb_spool *spool, struct nb_error *error)
{
    size_t done = 0;
    assert(spool->file >= 0);
    while (done < spool->tail.length) {
        ssize_t n = write(spool->file, spool->tail.bytes + done, spool->tail.length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return nb_error_errno(error, errno,
                                  "temporary file for a long reply, in the folder that the option "
                                  "[server] spool_directory names");
        done += (size_t)n;
    }
    return 0;
}

static int flush(struct nb_spool *spool, struct nb_error *error)
{
    assert(spool->directory != NULL); /* nb_spool_init was called */
    int rc = nb_hold_set(&spool->file_hold, spool->written + spool->tail.length, error);
    if (rc != 0)
        return rc;
    if (spool->file < 0)
        rc = open_file(spool, error);
    if (rc == 0)
        rc = write_tail(spool, error);
    if (rc != 0)
        return rc;
    spool->written += spool->tail.length;
    spool->tail.length = 0;
    return 0;
}

/* Whether the memory of `tail` is in the budget, or need not be. */
static bool is_held(struct nb_spool *spool)
{
    size_t size = spool->tail.capacity <= NB_SPOOL_FREE_BYTES ? 0 : spool->tail.capacity;
    return nb_hold_set(&spool->memory_hold, size, NULL) == 0;
}

static void free_tail(struct nb_spool *spool)
{
    assert(spool->tail.length == 0);
    nb_buffer_deinit(&spool->tail);
    (void)nb_hold_set(&spool->memory_hold, 0, NULL); /* giving back never fails */
}

int nb_spool_settle(struct nb_spool *spool, struct nb_error *error)
{
    size_t most = spool->file < 0 || spool->memory < WRITE_BYTES ? spool->memory : WRITE_BYTES;
    bool has_room = is_held(spool);
    if (has_room && spool->tail.length <= most)
        return 0;
    int rc = flush(spool, error);
    if (rc == 0 && !has_room)
        free_tail(spool);
    return rc;
}

int nb_spool_finish(struct nb_spool *spool, struct nb_error *error)
{
    if (spool->file < 0 && is_held(spool))
        return 0;
    int rc = flush(spool, error);
    if (rc == 0)
        free_tail(spool);
    return rc;
}
