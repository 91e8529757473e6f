/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through all pages of an LMDB data file before LMDB maps it. LMDB trusts what it reads: a
 * damaged page number, offset or order of keys ends in an assertion, a signal or overwritten data.
 * This walk trusts nothing. In the trees and in the list of free pages, it finds every page that is
 * misplaced, used twice, of the wrong kind, badly filled or out of order, and every stored count
 * that is wrong. If requested, it finds damaged entries of tables by the checksums of their values,
 * and puts keys in order (core/store/page.h); otherwise it does not check values.
 *
 * Reads with pread: a disk that refuses is an error, not a signal. One thread at a time; the file
 * must not change meanwhile.
 */
#ifndef NB_CORE_STORE_PAGES_H
#define NB_CORE_STORE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/store/page.h"

/* The arguments and the results of a walk through the pages of a file. */
enum { NB_PAGES_TABLES_MOST = 32, NB_PAGES_NAME_MOST = 24 };

struct nb_pages_question {
    int file;            /* open for reading, and with `is_sound` also for writing */
    const char *path;    /* for messages */
    struct nb_meta meta; /* the meta page with the trees to walk through */
    /* Accepts keys out of order in the leaves of tables: a search misses some of them, but reading
     * one after the other finds them all. For rescuing readable data. */
    bool any_order;
    const char *const *tables; /* names of the known tables */
    unsigned table_count;      /* at most NB_PAGES_TABLES_MOST */
    /* Not NULL: counts damaged entries of tables, and, if nothing else is damaged, replaces those
     * of their keys that are out of order, in the file. */
    nb_pages_judge *is_sound;
    const void *user; /* argument of is_sound */
};

struct nb_pages_answer {
    bool readable;    /* the main tree is sound, so tables that are not damaged can be read */
    uint32_t present; /* bit t: table t exists */
    uint32_t damaged; /* bit t: pages of table t are damaged */
    char unknown[NB_PAGES_NAME_MOST]; /* name of a table that is not in `tables`; "": none */
    unsigned damaged_entries;         /* entries with a wrong checksum */
    unsigned replaced;                /* keys of damaged entries that were replaced */
    uint64_t damaged_page;            /* first page with damaged entries; 0: there are none */
    unsigned damaged_table;           /* the table of that page */
    uint64_t used;                    /* pages in trees, including the two meta pages */
    uint64_t free;                    /* pages in the list of free pages */
};

/* Private to pages.c: the state of a walk and of its current tree. Damage ends the walk of a tree:
 * the functions return NB_CORRUPT, and the error names page, tree and reason. Other codes: NB_IO,
 * NB_NO_MEMORY. */
enum {
    NB_WALK_DEPTH_MOST = 32,    /* levels of a tree, the limit of LMDB's cursors */
    NB_WALK_IDS_AT_ONCE = 4096, /* numbers of free pages that are read at once */
};

enum nb_tree_kind { NB_MAIN_TREE, NB_TABLE_TREE, NB_FREE_TREE };

/* A tree that is being walked through. */
struct nb_page_tree {
    enum nb_tree_kind kind;
    unsigned table;   /* index in question->tables */
    const char *name; /* for messages */
    struct nb_tree_record record;
    struct nb_tree_record counted; /* the numbers of pages and entries, as counted by the walk */
    uint64_t last_key;             /* last key of the list of free pages: a transaction's number */
};

struct nb_walk {
    const struct nb_pages_question *question;
    struct nb_pages_answer *answer;
    struct nb_error *error;
    struct nb_error later; /* receives the errors after the first damage */
    uint32_t page_size;    /* bytes */
    uint64_t file_pages;   /* number of pages in the file */
    uint64_t last_page;    /* greatest number that a page may have */
    uint64_t *seen;        /* owned: a bit for each page that was found in use or free */
    unsigned char *levels[NB_WALK_DEPTH_MOST]; /* owned: the current page of each depth */
    size_t *ids;                               /* owned: a part of a list of free pages */
    struct nb_tree_record records[NB_PAGES_TABLES_MOST];
    struct nb_reordering reordering;
};

/* Checks the whole file, except the pages of an unknown table. Returns 0, NB_IO, NB_NO_MEMORY, or
 * NB_CORRUPT for the first damage: the error names page, table, fault and remedy. After an error
 * the answer is filled in as far as the walk came. */
int nb_pages_check(const struct nb_pages_question *question, struct nb_pages_answer *answer,
                   struct nb_error *error);

/* Returns the number of the last transaction in the list of free pages of `question->meta`. This is
 * the meta page's own transaction, unless the number in the meta page is damaged. Returns 0 if the
 * list is empty or cannot be read. */
uint64_t nb_pages_last_transaction(const struct nb_pages_question *question);

#endif
