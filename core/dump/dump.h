/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a dump: a whole model, with its documents.
 */
#ifndef NB_CORE_DUMP_DUMP_H
#define NB_CORE_DUMP_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/key.h"
#include "core/model/settings.h"

/* A dump, record by record; the server writes it as NDJSON. Numbers of rows and labels are those
 * of the dump. Every callback returns 0 to go on. Order: header, words (runs in row order),
 * documents (oldest first). */
struct nb_dump_header {
    struct nb_settings settings; /* borrowed */
    unsigned char key[NB_KEY_BYTES];
    size_t label_count;
    const char *const *labels; /* by label number */
    bool has_texts;            /* every feature has its text */
    struct nb_string stack;    /* what the stack has learned, stored form; length 0: nothing */
    /* Under which the features have their slots in `stack`: mostly `key`. */
    unsigned char stack_key[NB_KEY_BYTES];
};
struct nb_dump_words {
    uint32_t first_row;
    size_t count;
    const uint64_t *ids;
    const struct nb_string *texts; /* NULL when words are not kept */
};
enum { NB_DUMP_NO_LABEL = UINT16_MAX }; /* of a document that is stored without one */
struct nb_dump_document {
    struct nb_string id;
    uint32_t label; /* or NB_DUMP_NO_LABEL */
    int64_t learned;
    struct nb_string source;
    uint64_t tokens;
    const uint32_t *rows; /* ascending */
    const uint32_t *counts;
    size_t size;
    struct nb_string score; /* from before it was learned, stored form; length 0: none */
};
/* What a dump holds; said at its end, so that a cut or damaged one is found out. */
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
