/* SPDX-License-Identifier: Apache-2.0
 *
 * Repairs leaves of tables whose keys are out of order because one of them is damaged.
 *
 * A value has a checksum over its key and itself, which shows that an entry is damaged. Damaged
 * entries stay damaged: their readers find the wrong checksum.
 *
 * A damaged key may put its page out of order. A search there would miss sound entries, and LMDB
 * would put new ones in wrong places. So the key is replaced by one that is in order, and nothing
 * else is changed: the entry is lost, but searches find all other entries of the page again.
 *
 * One thread at a time. Nothing is written before nb_reordering_write.
 */
#ifndef NB_CORE_STORE_REORDER_H
#define NB_CORE_STORE_REORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

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
