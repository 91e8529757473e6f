/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store_meta.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADER = 16, /* of every page: its number (8 bytes), 2 unused, kind (2), 4 of the kind */
    KIND_AT = 10,
    KIND_META = 0x08,
    MAGIC = (int)0xBEEFC0DE,
    VERSION = 1,
    LEAST_PAGE = 4096,
    MOST_PAGE = 32768,
};

/* LMDB stores its own struct; these are its bytes on 64-bit machines. */
static_assert(sizeof(struct nb_tree_record) == 48, "layout of LMDB's MDB_db");
static_assert(sizeof(struct nb_meta) == 136, "layout of LMDB's MDB_meta");

static int damaged(const char *path, int page, const char *what, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT, "%s is damaged: page %d %s", path, page, what);
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
        return nb_error_set(error, NB_CORRUPT, "%s is damaged: it ends within its first pages",
                            path);
    return 0;
}

/* Reads meta page `page`, which begins at byte `at`. */
static int read_one(int file, const char *path, int page, off_t at, struct nb_meta *meta,
                    struct nb_error *error)
{
    unsigned char bytes[HEADER + sizeof *meta];
    uint64_t number;
    uint16_t kind;
    int rc = read_fully(file, path, bytes, sizeof bytes, at, error);
    if (rc != 0)
        return rc;
    memcpy(&number, bytes, sizeof number);
    memcpy(&kind, bytes + KIND_AT, sizeof kind);
    memcpy(meta, bytes + HEADER, sizeof *meta);
    if (number != (uint64_t)page || kind != KIND_META || meta->magic != (uint32_t)MAGIC)
        return damaged(path, page, "is not the head of a store", error);
    if (meta->version != VERSION)
        return nb_error_set(error, NB_VERSION,
                            "%s was written by another version of LMDB (format %u, this is %d), or "
                            "it is damaged",
                            path, meta->version, VERSION);
    uint32_t size = meta->free.pad;
    if (size < LEAST_PAGE || size > MOST_PAGE || (size & (size - 1)) != 0)
        return damaged(path, page, "names an impossible page size", error);
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
    return 0;
}

static int write_other(int file, const char *path, int page, const struct nb_meta *meta,
                       struct nb_error *error)
{
    off_t at = (off_t)page * meta->free.pad + HEADER;
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
    return write_other(file, path, !page, &meta, error);
}
