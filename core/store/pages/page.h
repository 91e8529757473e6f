/* SPDX-License-Identifier: Apache-2.0
 *
 * One page of an LMDB data file (data version 1) as bytes: its head and its nodes, checked before
 * they are used. Any thread; nothing is written.
 *
 * A page of a tree begins with its number (8 bytes), 2 unused bytes, its kind (2), the ends of its
 * list of nodes (lower, 2) and of its free space (upper, 2). The list has an offset (2 bytes) for
 * each node, in the order of the keys. Nodes fill the page from `upper` to its end: 8 bytes of
 * head, the key, and in a leaf the value or the number of the overflow page that has it.
 */
#ifndef NB_CORE_STORE_PAGES_PAGE_H
#define NB_CORE_STORE_PAGES_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

enum {
    NB_PAGE_BRANCH = 0x01,
    NB_PAGE_LEAF = 0x02,
    NB_PAGE_OVERFLOW = 0x04,
    NB_PAGE_META = 0x08,
};

enum {
    NB_PAGE_HEADER = 16, /* bytes before the list of nodes; of an overflow page before its value */
    NB_PAGE_LEAST = 4096,
    NB_PAGE_MOST = 32768,
    NB_PAGE_KEY_MOST = 511,
};

enum {
    NB_NODE_BIG = 0x01,  /* the value lies in overflow pages */
    NB_NODE_TREE = 0x02, /* the value is the record of a named tree */
};

struct nb_node {
    struct nb_string key;
    uint64_t child;             /* of a branch: the page below */
    unsigned flags;             /* of a leaf */
    uint32_t size;              /* of a leaf: bytes of the value */
    const unsigned char *value; /* of a leaf, if not NB_NODE_BIG */
    uint64_t overflow;          /* of a leaf, if NB_NODE_BIG: first page of the value */
};

/* Checks head and nodes of the `page_size` bytes at `page`, which should be page `number` of kind
 * NB_PAGE_BRANCH or NB_PAGE_LEAF: afterwards nb_page_count and nb_page_node are safe. Returns NULL,
 * or what is wrong, in words. */
const char *nb_page_check(const unsigned char *page, uint32_t page_size, uint64_t number,
                          unsigned kind);

unsigned nb_page_kind(const unsigned char *page);
/* Of a page that nb_page_check has accepted; `i` is below nb_page_count. */
unsigned nb_page_count(const unsigned char *page);
struct nb_node nb_page_node(const unsigned char *page, unsigned i);

/* Checks the head of an overflow page, whose first NB_PAGE_HEADER bytes are at `head`; sets *pages
 * to how many there are in a row. `size`: bytes of the value that they must have room for. */
const char *nb_page_check_overflow(const unsigned char *head, uint32_t page_size, uint64_t number,
                                   uint32_t size, uint32_t *pages);

/* The two meta pages of an LMDB data file (data version 1, as LMDB 0.9 writes it): where a
 * transaction's trees begin. Transaction n writes page n % 2; LMDB opens the page with the greater
 * transaction number. Reads and writes with pread and pwrite, never through a map. Any thread, one
 * at a time for a file. */
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
