/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through all pages of an LMDB data file before LMDB maps it. LMDB trusts what it reads: a
 * damaged page number, offset or order of keys ends in an assertion, a signal or overwritten data.
 * This walk trusts nothing. It finds every page that is not where it should be, used twice, of the
 * wrong kind, badly filled or out of order, in the trees and in the list of free pages, and numbers
 * that disagree with what was counted. It can find damaged entries of tables by the checksums of
 * their values, and put keys in order (core/store/pages/reorder.h); otherwise it does not check
 * values.
 *
 * Reads with pread: a disk that refuses is an error, not a signal. One thread at a time; the file
 * must not change meanwhile.
 */
#ifndef NB_CORE_STORE_PAGES_PAGES_H
#define NB_CORE_STORE_PAGES_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/store/pages/page.h"
#include "core/store/pages/reorder.h"

/* The question to the walk through the pages of a file, and its answer (core/store/pages/pages.h).
 */
enum { NB_PAGES_TABLES_MOST = 32, NB_PAGES_NAME_MOST = 24 };

struct nb_pages_question {
    int file;            /* open for reading; with `is_sound` for writing, too */
    const char *path;    /* for messages */
    struct nb_meta meta; /* where to begin */
    /* Rows in the leaves of tables may be out of order: a search misses some, reading in a row
     * finds them all. For rescuing the readable data. */
    bool any_order;
    const char *const *tables; /* the names that the main tree may have */
    unsigned table_count;      /* at most NB_PAGES_TABLES_MOST */
    /* Not NULL: damaged entries of tables are counted. If nothing else is damaged, keys that are
     * out of order are replaced in the file. */
    nb_pages_judge *is_sound;
    const void *user;
};

struct nb_pages_answer {
    bool readable;    /* the main tree is sound, so tables that are not damaged can be read */
    uint32_t present; /* bit t: table t is there */
    uint32_t damaged; /* bit t: pages of table t are damaged */
    char unknown[NB_PAGES_NAME_MOST]; /* of a table that is none of the question's; "": none */
    unsigned damaged_entries;         /* by their checksums */
    unsigned replaced;                /* keys of these that were out of order */
    uint64_t damaged_page;            /* the first page of these; 0: none was damaged */
    unsigned damaged_table;
    uint64_t used; /* pages in trees, the two first included */
    uint64_t free; /* pages in the list of free pages */
};

/* The inside of the walk of core/store/pages/pages.h, for its files: the state of the file and of
 * the current tree, and the checks of pages, keys and values. Damage ends the walk of its tree: the
 * functions return NB_CORRUPT with page, tree and reason; or NB_IO, NB_NO_MEMORY. */
enum {
    NB_WALK_DEPTH_MOST = 32, /* as LMDB's cursors */
    NB_WALK_IDS_AT_ONCE = 4096,
};

enum nb_tree_kind { NB_MAIN_TREE, NB_TABLE_TREE, NB_FREE_TREE };

/* A tree that is being walked through. */
struct nb_page_tree {
    enum nb_tree_kind kind;
    unsigned table;   /* of the question's */
    const char *name; /* for messages */
    struct nb_tree_record record;
    struct nb_tree_record counted; /* pages and entries only */
    uint64_t last_key;             /* of the free list */
};

struct nb_walk {
    const struct nb_pages_question *question;
    struct nb_pages_answer *answer;
    struct nb_error *error;
    struct nb_error later; /* takes what is found after the first damage */
    uint32_t page_size;
    uint64_t file_pages;                       /* that the file has */
    uint64_t last_page;                        /* that may have a number */
    uint64_t *seen;                            /* owned: a bit for each page */
    unsigned char *levels[NB_WALK_DEPTH_MOST]; /* owned: a page of each depth */
    uint64_t *ids;                             /* owned: a part of a list of free pages */
    struct nb_tree_record records[NB_PAGES_TABLES_MOST];
    struct nb_reordering reordering;
};

/* Checks the whole file, but not the pages of an unknown table. Returns 0; NB_CORRUPT with the
 * first damage: page, table, what is wrong and what to do; NB_IO, NB_NO_MEMORY. The answer is
 * filled in as far as the walk came. */
int nb_pages_check(const struct nb_pages_question *question, struct nb_pages_answer *answer,
                   struct nb_error *error);

/* The number of the last transaction that freed pages, by the list of free pages that begins at
 * `question->meta`: that of the meta page's own transaction, unless it is damaged. 0: the list is
 * empty or cannot be read. */
uint64_t nb_pages_last_transaction(const struct nb_pages_question *question);

#endif
