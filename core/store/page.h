/* SPDX-License-Identifier: Apache-2.0
 *
 * One page of an LMDB data file (data version 1) as bytes: its head and its nodes, checked before
 * they are used; and the two meta pages. Any thread; functions on pages write nothing.
 *
 * LMDB stores numbers of pages and transactions, and counts, as a size_t of the machine (a word: 8
 * bytes, or 4 on machines of 32 bits), so these cannot read each other's files.
 *
 * A page of a tree begins with its number (a word), 2 unused bytes, its kind (2), the ends of its
 * list of nodes (lower, 2) and of its free space (upper, 2). The list has an offset (2 bytes) for
 * each node, in the order of the keys. Nodes fill the page from `upper` to its end: 8 bytes of
 * head, the key, and in a leaf the value or the number (a word) of the overflow page that has it.
 */
#ifndef NB_CORE_STORE_PAGE_H
#define NB_CORE_STORE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
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
    NB_PAGE_WORD = sizeof(size_t),
    NB_PAGE_HEADER = NB_PAGE_WORD + 8, /* bytes before the list, or an overflow page's value */
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
    uint64_t child;             /* in a branch: number of the page below */
    unsigned flags;             /* in a leaf: NB_NODE_... */
    uint32_t size;              /* in a leaf: bytes of the value */
    const unsigned char *value; /* in a leaf, unless NB_NODE_BIG is set */
    uint64_t overflow;          /* in a leaf, if NB_NODE_BIG is set: first page of the value */
};

/* Checks head and nodes of the `page_size` bytes at `page`, which should be page `number` of kind
 * NB_PAGE_BRANCH or NB_PAGE_LEAF: afterwards nb_page_count and nb_page_node are safe. Returns NULL,
 * or a description of the fault. */
const char *nb_page_check(const unsigned char *page, uint32_t page_size, uint64_t number,
                          unsigned kind);

unsigned nb_page_kind(const unsigned char *page);
/* The number of nodes, and node `i` (below nb_page_count), of a page that nb_page_check has
 * accepted. */
unsigned nb_page_count(const unsigned char *page);
struct nb_node nb_page_node(const unsigned char *page, unsigned i);

/* Checks the head of the first overflow page of a value: the NB_PAGE_HEADER bytes at `head`. Sets
 * *pages to the number of consecutive pages, which must have room for a value of `size` bytes.
 * Returns as nb_page_check. */
const char *nb_page_check_overflow(const unsigned char *head, uint32_t page_size, uint64_t number,
                                   uint32_t size, uint32_t *pages);

/* The two meta pages of an LMDB data file (data version 1, as LMDB 0.9 writes it). A meta page has
 * the roots of a transaction's trees. Transaction n writes page n % 2; LMDB opens the page with the
 * greater transaction number. The functions use pread and pwrite, never a map. Any thread, one at a
 * time for a file. */
#define NB_NO_PAGE SIZE_MAX /* the root of an empty tree */

/* LMDB's record of a tree, as stored in a meta page and in the main tree. */
struct nb_tree_record {
    uint32_t pad; /* in the record of the free list: the page size in bytes */
    uint16_t flags;
    uint16_t depth;
    size_t branch_pages;
    size_t leaf_pages;
    size_t overflow_pages;
    size_t entries;
    size_t root;
};

struct nb_meta {
    uint32_t magic;
    uint32_t version;
    size_t address;
    size_t map_size;
    struct nb_tree_record free; /* the free list: pages that each transaction has freed */
    struct nb_tree_record main; /* the main tree: records of the named trees */
    size_t last_page;
    size_t transaction;
};

/* Reads both meta pages of the open file, and sets *newest to the index of the last transaction's.
 * NB_NOT_FOUND (without a text): the file is empty. NB_CORRUPT: a meta page is damaged. NB_VERSION:
 * another format of LMDB. NB_IO. `path` is for errors. */
int nb_meta_read(int file, const char *path, struct nb_meta metas[2], int *newest,
                 struct nb_error *error);

/* Writes meta page `page` (0 or 1) and syncs. NB_IO and others of nb_error_errno: writing failed.
 */
int nb_meta_write(int file, const char *path, int page, const struct nb_meta *meta,
                  struct nb_error *error);

/* Makes sure that LMDB opens transaction `committed`, even if a later one has begun to write its
 * meta page: checks that the meta page of `committed` is intact, overwrites the other one with a
 * copy that has a lower number, and syncs. NB_CORRUPT: the meta page of `committed` is not there.
 * NB_IO and others of nb_error_errno: writing failed; call again later. */
int nb_meta_put_back(int file, const char *path, uint32_t page_size, uint64_t committed,
                     struct nb_error *error);

/* ---- leaves out of order --------------------------------------------------------------------- */

/* Repairs leaves of tables whose keys are out of order because one of them is damaged.
 *
 * A value has a checksum over its key and itself, which shows that an entry is damaged. Damaged
 * entries stay damaged: their readers find the wrong checksum.
 *
 * A damaged key may put its page out of order. A search there would miss sound entries, and LMDB
 * would put new ones in wrong places. So the key is replaced by one that is in order, and nothing
 * else is changed: the entry is lost, but searches find all other entries of the page again.
 *
 * One thread at a time. Nothing is written before nb_reordering_write. */

/* The keys of a subtree are >= `from` and < `to`. If the bytes of a bound are NULL, there is none.
 */
struct nb_bounds {
    struct nb_string from;
    struct nb_string to;
};

enum { NB_REORDERED_MOST = 64 }; /* pages; in a file with more, they count as damaged */

/* Whether the checksum in an entry's value is right for the table, the key and the value. */
typedef bool nb_pages_judge(const void *user, unsigned table, struct nb_string key,
                            struct nb_string value);

/* The repaired pages of a file, not written yet. */
struct nb_reordering {
    int file;         /* open for reading and writing */
    const char *path; /* for messages */
    nb_pages_judge *is_sound;
    const void *user;
    uint32_t page_size;
    uint64_t file_pages; /* number of pages in the file */
    struct {
        uint64_t number;
        unsigned char *bytes; /* owned */
    } pages[NB_REORDERED_MOST];
    unsigned count;
    unsigned damaged;  /* number of damaged entries, including those with replaced keys */
    unsigned replaced; /* number of replaced keys */
};
void nb_reordering_deinit(struct nb_reordering *reordering);

/* Whether all entries of the leaf `page`, which nb_page_check has accepted, have right checksums.
 * Skips values in pages of their own. */
bool nb_leaf_is_sound(const struct nb_reordering *reordering, unsigned table,
                      const unsigned char *page);
/* Counts the damaged entries of the leaf, and replaces those of their keys that are out of order or
 * out of the bounds. The caller then checks that all keys are in order. Returns 0, NB_CORRUPT
 * without a text (a value cannot be read), NB_IO or NB_NO_MEMORY. */
int nb_reorder_leaf(struct nb_reordering *reordering, unsigned table, unsigned char *page,
                    struct nb_bounds bounds, struct nb_error *error);
/* Keeps a copy of the page for nb_reordering_write. NB_CORRUPT without a text: there are too many
 * pages. */
int nb_reordering_keep(struct nb_reordering *reordering, uint64_t number, const unsigned char *page,
                       struct nb_error *error);

/* Writes the pages to the file, durably. A write that is cut off does no harm: only bytes of
 * damaged entries differ, and the next repair puts them in order again. Returns 0 or a code of
 * nb_error_errno. */
int nb_reordering_write(const struct nb_reordering *reordering, struct nb_error *error);

#endif
