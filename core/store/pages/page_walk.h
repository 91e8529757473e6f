/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the walk of core/store/pages/pages.h, for its files: the state of the file and of
 * the current tree, and the checks of pages, keys and values. Damage ends the walk of its tree: the
 * functions return NB_CORRUPT with page, tree and reason; or NB_IO, NB_NO_MEMORY.
 */
#ifndef NB_CORE_STORE_PAGES_PAGE_WALK_H
#define NB_CORE_STORE_PAGES_PAGE_WALK_H

#include "core/store/pages/page.h"
#include "core/store/pages/question.h"

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

/* Reports that a page of the tree is damaged; returns NB_CORRUPT. */
int nb_walk_damaged(const struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                    const char *what);

/* Reads bytes of a page. */
int nb_walk_read_at(const struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                    size_t offset, void *bytes, size_t length);
/* Notes that a page is in use or free; the number is at most `last_page`. */
int nb_walk_mark(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page);
/* Checks that consecutive pages are in the file, and notes that they are in use. */
int nb_walk_mark_used(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                      uint64_t count);

/* Returns the number in a key of the list of free pages. */
uint64_t nb_walk_number(struct nb_string key);
/* Checks that the keys of a page ascend, within the bounds. The keys of a leaf of a table may
 * be put in order. */
int nb_walk_check_keys(struct nb_walk *w, const struct nb_page_tree *tree, uint64_t page,
                       unsigned char *bytes, struct nb_bounds bounds);

/* Checks an entry of a leaf: its overflow pages, and what the list of tables and the list of free
 * pages have as values. */
int nb_walk_check_value(struct nb_walk *w, struct nb_page_tree *tree, uint64_t page,
                        const struct nb_node *node);

#endif
