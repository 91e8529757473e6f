/* SPDX-License-Identifier: Apache-2.0
 *
 * Labelled documents that are read several times; some may have no label. A nameless file in
 * $TMPDIR keeps their contents; memory holds only a small entry for each. One thread.
 */
#ifndef NB_SERVER_CLIENT_EVALUATE_LABELLED_CORPUS_H
#define NB_SERVER_CLIENT_EVALUATE_LABELLED_CORPUS_H

#include <stdio.h>

#include "server/client/files/files.h"

struct nb_corpus_entry {
    uint64_t offset; /* of the texts: name with its NUL, id, values, content (packed) */
    uint32_t length; /* of them */
    uint32_t label;  /* index of `labels` */
    enum nb_item_part part;
    bool is_mail, has_no_content;
};

struct nb_labelled_corpus {
    FILE *file;                      /* owned, like all pointers below */
    struct nb_corpus_entry *entries; /* `count` of them, room for `room` */
    size_t count, room;
    char **labels; /* sorted by bytes once everything is read */
    size_t label_count;
    uint64_t written; /* bytes of the file */
    uint64_t bytes;   /* of the documents */
    /* See struct nb_files; NULL: faults are messages on standard error, and counted in `unread`. */
    void (*tell)(void *user, enum nb_file_news news, const char *name, const char *what);
    void *user;
    bool takes_unlabelled;  /* accepts documents without a label, whose label is then empty */
    const char *hint;       /* advice at the end of the message about a missing label; or NULL */
    uint64_t unread;        /* files that could not be read */
    struct nb_buffer texts; /* of the last document that was read or got */
};

/* Adds a label that a document may have, unless it is there already. Call before the documents are
 * read. Returns 0, NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_corpus_add_label(struct nb_labelled_corpus *corpus, struct nb_string label,
                        struct nb_error *error);

/* Reads all documents of the paths into a corpus that is all zero except for `tell`,
 * `user`, `takes_unlabelled`, `hint` and labels that were added. Returns 0, NB_CLIENT_USAGE
 * (a document has no label), NB_TOO_LARGE (too many labels, too long a name), NB_IO or
 * NB_NO_MEMORY; nb_labelled_corpus_deinit is needed in any case. */
int nb_labelled_corpus_read(struct nb_labelled_corpus *corpus,
                            const struct nb_files_options *options, char *const *paths,
                            size_t count, struct nb_error *error);
void nb_labelled_corpus_deinit(struct nb_labelled_corpus *corpus);

/* Shuffles the entries (Fisher and Yates). The order depends on the seed and nothing else. */
void nb_labelled_corpus_shuffle(struct nb_labelled_corpus *corpus, uint64_t seed);

/* Reads the document of entry `i`; what the item points to is valid until the next call. Returns 0,
 * NB_IO or NB_NO_MEMORY. */
int nb_labelled_corpus_get(struct nb_labelled_corpus *corpus, size_t i, struct nb_item *item,
                           struct nb_error *error);

#endif
