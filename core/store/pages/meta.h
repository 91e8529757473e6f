/* SPDX-License-Identifier: Apache-2.0
 *
 * The two meta pages of an LMDB data file (data version 1, as LMDB 0.9 writes it): where a
 * transaction's trees begin. Transaction n writes page n % 2; LMDB opens the page with the greater
 * transaction number. Reads and writes with pread and pwrite, never through a map. Any thread, one
 * at a time for a file.
 */
#ifndef NB_CORE_STORE_PAGES_META_H
#define NB_CORE_STORE_PAGES_META_H

#include <stdint.h>

#include "core/base/error.h"

#define NB_NO_PAGE UINT64_MAX /* the root of an empty tree */

/* LMDB's record of a tree, as it lies in a meta page and in the main tree. */
struct nb_tree_record {
    uint32_t pad; /* in the record of the free list: bytes of a page */
    uint16_t flags;
    uint16_t depth;
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
    uint64_t root;
};

struct nb_meta {
    uint32_t magic;
    uint32_t version;
    uint64_t address;
    uint64_t map_size;
    struct nb_tree_record free; /* pages that may be used again, by transaction */
    struct nb_tree_record main; /* the named trees */
    uint64_t last_page;
    uint64_t transaction;
};

/* Reads both meta pages of the open file and sets *newest to that of the last transaction.
 * NB_NOT_FOUND (`error` is left alone): the file is empty. NB_CORRUPT: a meta page is not one;
 * NB_VERSION: of another LMDB format; NB_IO. `path` is named in errors. */
int nb_meta_read(int file, const char *path, struct nb_meta metas[2], int *newest,
                 struct nb_error *error);

/* Writes meta page `page` (0 or 1) and syncs. NB_IO and
 * others: the disk refuses. */
int nb_meta_write(int file, const char *path, int page, const struct nb_meta *meta,
                  struct nb_error *error);

/* Makes sure that transaction `committed` is the one that LMDB opens, also after a later one had
 * begun to write its meta page: checks that the meta page of `committed` is there, overwrites the
 * other one with a copy that has a lower number, and syncs. NB_CORRUPT: `committed` is not there;
 * NB_IO and others: the disk refuses; call again later. */
int nb_meta_put_back(int file, const char *path, uint32_t page_size, uint64_t committed,
                     struct nb_error *error);

#endif
