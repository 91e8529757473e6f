/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/pages/meta.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/store/pages/page.h"

enum { MAGIC = (int)0xBEEFC0DE, VERSION = 1 };

/* LMDB stores its own struct; these are its bytes on 64-bit machines. */
static_assert(sizeof(struct nb_tree_record) == 48, "layout of LMDB's MDB_db");
static_assert(sizeof(struct nb_meta) == 136, "layout of LMDB's MDB_meta");

static int damaged(const char *path, int page, const char *what, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT, "%s is damaged: page %d %s; restore a backup", path,
                        page, what);
}

static int read_fully(int file, const char *path, void *bytes, size_t length, off_t at,
                      struct nb_error *error)
{
    ssize_t got = pread(file, bytes, length, at);
    if (got < 0)
        return nb_error_errno(error, errno, path);
    if (got == 0 && at == 0)
        return NB_NOT_FOUND;
    if ((size_t)got != length)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged: it ends within its first pages; restore a "
                            "backup",
                            path);
    return 0;
}

/* Reads meta page `page`, which begins at byte `at`. */
static int read_one(int file, const char *path, int page, off_t at, struct nb_meta *meta,
                    struct nb_error *error)
{
    unsigned char bytes[NB_PAGE_HEADER + sizeof *meta];
    uint64_t number;
    int rc = read_fully(file, path, bytes, sizeof bytes, at, error);
    if (rc != 0)
        return rc;
    memcpy(&number, bytes, sizeof number);
    memcpy(meta, bytes + NB_PAGE_HEADER, sizeof *meta);
    if (number != (uint64_t)page || nb_page_kind(bytes) != NB_PAGE_META ||
        meta->magic != (uint32_t)MAGIC)
        return damaged(path, page, "is not the head of a store", error);
    if (meta->version != VERSION)
        return nb_error_set(error, NB_VERSION,
                            "%s was written by another version of LMDB (format %u, this is %d), or "
                            "it is damaged",
                            path, meta->version, VERSION);
    uint32_t size = meta->free.pad;
    if (size < NB_PAGE_LEAST || size > NB_PAGE_MOST || (size & (size - 1)) != 0)
        return damaged(path, page, "names an impossible page size", error);
    return 0;
}

/* Transaction n writes page n % 2, and the other page has the one before it. */
static int check_numbers(const char *path, const struct nb_meta metas[2], int newest,
                         struct nb_error *error)
{
    for (int page = 0; page < 2; page++)
        if (metas[page].transaction != 0 && (int)(metas[page].transaction & 1) != page)
            return damaged(path, page, "has an impossible transaction number", error);
    if (metas[newest].transaction - metas[!newest].transaction > 1)
        return damaged(path, newest, "and the other head do not belong together", error);
    return 0;
}

int nb_meta_read(int file, const char *path, struct nb_meta metas[2], int *newest,
                 struct nb_error *error)
{
    int rc = read_one(file, path, 0, 0, &metas[0], error);
    if (rc == 0)
        rc = read_one(file, path, 1, metas[0].free.pad, &metas[1], error);
    if (rc != 0)
        return rc;
    if (metas[0].free.pad != metas[1].free.pad)
        return damaged(path, 1, "names another page size than page 0", error);
    *newest = metas[0].transaction < metas[1].transaction;
    return check_numbers(path, metas, *newest, error);
}

int nb_meta_write(int file, const char *path, int page, const struct nb_meta *meta,
                  struct nb_error *error)
{
    off_t at = (off_t)page * meta->free.pad + NB_PAGE_HEADER;
    ssize_t written = pwrite(file, meta, sizeof *meta, at);
    if (written >= 0 && written != (ssize_t)sizeof *meta)
        errno = EIO;
    if (written != (ssize_t)sizeof *meta || fdatasync(file) != 0)
        return nb_error_errno(error, errno, path);
    return 0;
}

int nb_meta_put_back(int file, const char *path, uint32_t page_size, uint64_t committed,
                     struct nb_error *error)
{
    struct nb_meta meta;
    int page = (int)(committed & 1);
    /* The other page may be half written: it is not read. */
    int rc = read_one(file, path, page, (off_t)page * page_size, &meta, error);
    if (rc != 0)
        return rc;
    if (meta.transaction != committed || meta.free.pad != page_size)
        return damaged(path, page, "has lost the last transaction", error);
    meta.transaction = committed > 0 ? committed - 1 : 0;
    return nb_meta_write(file, path, !page, &meta, error);
}
