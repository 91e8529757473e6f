/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through all pages of an LMDB data file before LMDB maps it. LMDB believes what it reads: a
 * damaged page number, offset or order of keys ends in an assertion, a signal or overwritten data.
 * This walk believes nothing. It finds every page that is not where it should be, used twice, of
 * the wrong kind, badly filled or out of order, in the trees and in the list of free pages, and
 * numbers that disagree with what was counted. Damaged entries of tables can be put right by the
 * checksums of their values (core/pages/mend.h); otherwise values are not looked at.
 *
 * Reads with pread: a disk that refuses is an error, not a signal. One thread at a time; the file
 * must not change meanwhile.
 */
#ifndef NB_CORE_PAGES_PAGES_H
#define NB_CORE_PAGES_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/pages/mend.h"
#include "core/pages/meta.h"

enum { NB_PAGES_TABLES_MOST = 32, NB_PAGES_NAME_MOST = 24 };

struct nb_pages_question {
    int file;            /* open for reading; with `is_sound` for writing, too */
    const char *path;    /* for messages */
    struct nb_meta meta; /* where to begin */
    /* Rows in the leaves of tables may be out of order: a search misses some, reading in a row
     * finds them all. For saving what can be saved. */
    bool any_order;
    const char *const *tables; /* the names that the main tree may have */
    unsigned table_count;      /* at most NB_PAGES_TABLES_MOST */
    /* Not NULL: leaves of tables are mended, if nothing else is damaged, and the file is written.
     */
    nb_pages_judge *is_sound;
    const void *user;
};

struct nb_pages_answer {
    bool readable;    /* the main tree is sound, so tables that are not damaged can be read */
    uint32_t present; /* bit t: table t is there */
    uint32_t damaged; /* bit t: pages of table t are damaged */
    char unknown[NB_PAGES_NAME_MOST]; /* of a table that is none of the question's; "": none */
    unsigned corrected;               /* damaged entries that are right again */
    unsigned lost;                    /* entries whose keys could only be replaced */
    uint64_t mended;                  /* the first page of these; 0: nothing was mended */
    unsigned mended_table;
    uint64_t used; /* pages in trees, the two first included */
    uint64_t free; /* pages in the list of free pages */
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
