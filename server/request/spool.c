/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Once there is a file, pieces of this size are written. */
enum { WRITE_BYTES = 256 * 1024 };

void nb_spool_init(struct nb_spool *spool, const char *directory, size_t memory)
{
    *spool = (struct nb_spool){.directory = directory, .memory = memory, .file = -1};
}

void nb_spool_deinit(struct nb_spool *spool)
{
    nb_buffer_deinit(&spool->tail);
    if (spool->file >= 0)
        (void)close(spool->file); /* the file has no name: nothing can be lost */
    spool->file = -1;
}

void nb_spool_reset(struct nb_spool *spool)
{
    nb_spool_deinit(spool);
    nb_spool_init(spool, spool->directory, spool->memory);
}

uint64_t nb_spool_length(const struct nb_spool *spool)
{
    return spool->written + spool->tail.length;
}

/* A file without a name; on file systems that cannot make one, a name that is removed at once. */
static int open_nameless(const char *directory)
{
    int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/.bayesd-reply-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(path); /* a name that stays does no harm to the reply */
    return file;
}

static int flush(struct nb_spool *spool, struct nb_error *error)
{
    if (spool->file < 0) {
        spool->file = open_nameless(spool->directory);
        if (spool->file < 0)
            return nb_error_errno(error, errno, "temporary file for a long reply");
    }
    size_t done = 0;
    assert(spool->file >= 0);
    while (done < spool->tail.length) {
        ssize_t n = write(spool->file, spool->tail.bytes + done, spool->tail.length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return nb_error_errno(error, errno, "temporary file for a long reply");
        done += (size_t)n;
    }
    spool->written += spool->tail.length;
    spool->tail.length = 0;
    return 0;
}

int nb_spool_settle(struct nb_spool *spool, struct nb_error *error)
{
    size_t most = spool->file < 0 || spool->memory < WRITE_BYTES ? spool->memory : WRITE_BYTES;
    return spool->tail.length > most ? flush(spool, error) : 0;
}

int nb_spool_finish(struct nb_spool *spool, struct nb_error *error)
{
    return spool->file >= 0 ? flush(spool, error) : 0;
}
