/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a dump: a whole model, with its documents.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_DUMP_H
#define NB_CORE_ARCHIVE_DUMP_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/key.h"
#include "core/bayes/settings/settings.h"

/* A dump as a sequence of records; the server writes them as NDJSON. Order: header, words (runs in
 * row order), documents (oldest first), totals. Row and label numbers are those of the dump, not of
 * the model. A callback returns 0 to continue; any other code ends the dump and is returned. */
struct nb_dump_header {
    struct nb_settings settings; /* borrowed */
    unsigned char key[NB_KEY_BYTES];
    size_t label_count;
    const char *const *labels; /* by label number */
    bool has_texts;            /* every feature comes with its text */
    struct nb_string stack;    /* weights of the stack, stored form; length 0: none */
    /* The key that hashes features to the twin's slots in `stack`; usually `key`. */
    unsigned char stack_key[NB_KEY_BYTES];
};
struct nb_dump_words {
    uint32_t first_row;
    size_t count;
    const uint64_t *ids;
    const struct nb_string *texts; /* NULL when words are not kept */
};
enum { NB_DUMP_NO_LABEL = UINT16_MAX }; /* label of a document without one */
struct nb_dump_document {
    struct nb_string id;
    uint32_t label; /* or NB_DUMP_NO_LABEL */
    int64_t learned;
    struct nb_string source;
    uint64_t tokens;
    const uint32_t *rows; /* ascending */
    const uint32_t *counts;
    size_t size;
    struct nb_string score; /* as scored before it was learned, stored form; length 0: none */
};
/* Totals at the end of a dump. A reader compares them with what it has read, to detect a truncated
 * or damaged dump. */
struct nb_dump_totals {
    uint64_t documents;
    uint64_t features;    /* rows */
    uint64_t occurrences; /* sum of all documents' counts */
};
struct nb_dump_sink {
    int (*header)(void *user, const struct nb_dump_header *header);
    int (*words)(void *user, const struct nb_dump_words *words);
    int (*document)(void *user, const struct nb_dump_document *document);
    int (*end)(void *user, const struct nb_dump_totals *totals);
    void *user;
};

#endif
