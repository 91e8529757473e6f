/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged entries in leaves of tables, put right where that can be done.
 *
 * A value holds a checksum over its key and itself, so it is known which entries are damaged. If
 * one byte of one is wrong, in the key, the value or the checksum, trial finds it: the checksum
 * says which byte was there. Other damage of values is left to whoever reads them.
 *
 * A damaged key may put its page out of order. A search there would miss sound entries, and LMDB
 * would put new ones in wrong places. If the key cannot be put right, the entry is lost. Its key is
 * replaced by one that is in order, and nothing else is changed: whoever reads the entry meets a
 * wrong checksum, and all others of the page are found again.
 *
 * One thread at a time. Nothing is written before nb_mending_write.
 */
#ifndef NB_CORE_STORE_PAGES_MEND_H
#define NB_CORE_STORE_PAGES_MEND_H

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
    unsigned failed;    /* damaged entries that were tried in vain, up to a bound */
    unsigned corrected; /* entries that are right again */
    unsigned replaced;  /* keys that were replaced */
    unsigned lost;      /* entries that stay damaged, those with replaced keys too */
};
void nb_mending_deinit(struct nb_mending *mending);

/* Whether key and value of all entries of the leaf `page`, which nb_page_check has accepted, belong
 * together. Values in pages of their own are passed over. */
bool nb_leaf_is_sound(const struct nb_mending *mending, unsigned table, const unsigned char *page);
/* Puts damaged entries of the leaf right, and replaces damaged keys that are out of order or of the
 * bounds. Whether all are in order then is for the caller to see. Returns 0, NB_CORRUPT without a
 * text (a value cannot be read), NB_IO or NB_NO_MEMORY. */
int nb_mend_leaf(struct nb_mending *mending, unsigned table, unsigned char *page,
                 struct nb_bounds bounds, struct nb_error *error);
/* Keeps a copy of the page for nb_mending_write. NB_CORRUPT without a text: there are too many. */
int nb_mending_keep(struct nb_mending *mending, uint64_t number, const unsigned char *page,
                    struct nb_error *error);

/* Writes the pages to the file, durably. A write that is cut off does no harm: only bytes of
 * damaged entries differ, and they are mended again. Returns 0 or what the system refuses. */
int nb_mending_write(const struct nb_mending *mending, struct nb_error *error);

#endif
