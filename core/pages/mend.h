/* SPDX-License-Identifier: Apache-2.0
 *
 * Leaves of tables whose keys are out of order, put in order again: a search in such a page would
 * miss sound entries, and LMDB would put new ones in wrong places.
 *
 * A value holds a checksum over its key and itself, so it is known whose key is damaged. If one
 * byte of the key is wrong, trial finds it: the checksum says which byte was there. Otherwise the
 * entry is lost. Its key is replaced by one that is in order, and nothing else is changed: whoever
 * reads the entry meets a wrong checksum, and all others of the page are found again.
 *
 * One thread at a time. Nothing is written before nb_mending_write.
 */
#ifndef NB_CORE_PAGES_MEND_H
#define NB_CORE_PAGES_MEND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Keys of a subtree are >= `from` and < `to`; bytes NULL: no bound. */
struct nb_bounds {
    struct nb_string from;
    struct nb_string to;
};

enum { NB_MENDED_MOST = 64 }; /* pages; of a file with more, the pages are damaged */

/* Whether key and value of table `table` belong together, by a checksum. */
typedef bool nb_pages_judge(const void *user, unsigned table, struct nb_string key,
                            struct nb_string value);

/* Pages that differ from those of the file. */
struct nb_mending {
    int file;         /* open for reading and writing */
    const char *path; /* for messages */
    nb_pages_judge *is_sound;
    const void *user;
    uint32_t page_size;
    uint64_t file_pages; /* that the file has */
    struct {
        uint64_t number;
        unsigned char *bytes; /* owned */
    } pages[NB_MENDED_MOST];
    unsigned count;
    unsigned corrected; /* keys that are right again */
    unsigned lost;      /* keys that were replaced */
};
void nb_mending_deinit(struct nb_mending *mending);

/* Puts the keys of the leaf `page` of table `table`, which nb_page_check has accepted, in order
 * within the bounds, as far as they belong to damaged entries. Whether all are in order then is for
 * the caller to see. Returns 0, NB_CORRUPT without a text (a value cannot be read), NB_IO or
 * NB_NO_MEMORY. */
int nb_mend_leaf(struct nb_mending *mending, unsigned table, unsigned char *page,
                 struct nb_bounds bounds, struct nb_error *error);
/* Keeps a copy of the page for nb_mending_write. NB_CORRUPT without a text: there are too many. */
int nb_mending_keep(struct nb_mending *mending, uint64_t number, const unsigned char *page,
                    struct nb_error *error);

/* Writes the pages to the file, durably. A write that is cut off does no harm: only bytes of
 * damaged keys differ, and they are mended again. Returns 0 or what the system refuses. */
int nb_mending_write(const struct nb_mending *mending, struct nb_error *error);

#endif
