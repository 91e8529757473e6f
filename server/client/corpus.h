/* SPDX-License-Identifier: Apache-2.0
 *
 * Labelled documents that are gone over several times: their contents lie in a file without a name
 * in $TMPDIR, so that memory holds some bytes of each only. One thread.
 */
#ifndef NB_CLIENT_CORPUS_H
#define NB_CLIENT_CORPUS_H

#include <stdio.h>

#include "server/client/source.h"

enum { NB_CORPUS_LABELS = 10000 };

struct nb_entry {
    uint64_t offset;
    uint32_t length;                 /* of the content; the id and the name lie behind it */
    uint16_t id_length, name_length; /* the name's with its NUL */
    uint32_t label;                  /* index of `labels` */
    enum nb_part part;
    bool is_mail;
};

struct nb_corpus {
    FILE *file; /* owned, and what follows too */
    struct nb_entry *entries;
    size_t count, room;
    char **labels; /* in the order of their bytes, once all is read */
    size_t label_count;
    uint64_t written; /* bytes of the file */
    uint64_t bytes;   /* of the documents */
    /* Called with what cannot be read and why; NULL: it is said on standard error. */
    void (*skip)(void *user, const char *name, const char *reason);
    void *user;
    uint64_t unread; /* files that could not be read */
    struct nb_buffer content;
};

/* Reads all documents of the paths; the corpus is all zero, or has `skip` and `user` set.
 * NB_CLIENT_USAGE: one has no label. */
int nb_corpus_read(struct nb_corpus *corpus, const struct nb_source_options *options,
                   char *const *paths, size_t count, struct nb_error *error);
void nb_corpus_deinit(struct nb_corpus *corpus);

/* Puts the entries into an order that depends on the seed only (Fisher and Yates). */
void nb_corpus_shuffle(struct nb_corpus *corpus, uint64_t seed);

/* The document of an entry; what it points to is valid until the next call. */
int nb_corpus_get(struct nb_corpus *corpus, size_t i, struct nb_item *item, struct nb_error *error);

#endif
