/* SPDX-License-Identifier: Apache-2.0
 *
 * The question to the walk through the pages of a file, and its answer (core/store/pages/pages.h).
 */
#ifndef NB_CORE_STORE_PAGES_QUESTION_H
#define NB_CORE_STORE_PAGES_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store/pages/meta.h"
#include "core/store/pages/reorder.h"

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

#endif
