/* SPDX-License-Identifier: Apache-2.0
 *
 * The small records of the store, beside ledger entries (change.h) and ranges of rows (range.h).
 * Pure functions on bytes; any thread. Each _write appends the stored form and returns 0 or
 * NB_NO_MEMORY. Each _read returns 0 or NB_CORRUPT, and the strings that it sets are borrowed from
 * `stored`.
 *
 * Stored form: the members of a record in the order in which its struct has them, numbers as
 * varints, texts as strings (core/base/pack.h). A model's own key is one byte, which says whether
 * features are hashed under it, and NB_KEY_BYTES bytes; without an own key, nothing.
 */
#ifndef NB_CORE_LEDGER_ENTRIES_RECORD_H
#define NB_CORE_LEDGER_ENTRIES_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/key.h"

/* Totals of a model in the ledger. */
struct nb_ledger_totals {
    uint64_t entries;    /* entries of the ledger */
    uint64_t current;    /* documents that are learned, or stored without a label */
    uint64_t unlabelled; /* of these, those without a label */
    uint64_t scores;     /* of these, those with a score from before they were learned */
    /* Documents that were learned and are no longer in the ledger. A rebuild cannot teach the
     * weights of a stack from them again. */
    uint64_t dropped;
};

/* A model as its last commit left it: enough for lists, without its counts. */
/* The stored slots of a twin (core/model/live/twin_log.h): the number of ranges, and of its log the
 * oldest stored record, the first one that is needed, and the number of the next one. */
struct nb_twin_stored {
    uint32_t ranges;
    uint64_t oldest, first, next;
};

struct nb_state_record {
    uint64_t last;       /* number of its newest entry */
    uint64_t replay;     /* entries below this number are in every stored range */
    uint64_t tail;       /* feature changes, and one per entry, from `replay` on */
    uint64_t vocabulary; /* tokens with a count above 0 */
    uint32_t rows;       /* rows that have an id */
    uint32_t labels;     /* records of labels */
    uint32_t weights;    /* records of weights */
    struct nb_ledger_totals totals;
    struct nb_twin_stored twin;
};
int nb_state_write(const struct nb_state_record *state, struct nb_buffer *out);
int nb_state_read(struct nb_state_record *state, struct nb_string stored, struct nb_error *error);

struct nb_label_record {
    struct nb_string name; /* borrowed */
    uint64_t documents;
    uint64_t tokens; /* occurrences in fields that are tokens */
};
int nb_label_write(const struct nb_label_record *label, struct nb_buffer *out);
int nb_label_read(struct nb_label_record *label, struct nb_string stored, struct nb_error *error);

/* A model's own key. An import from another store brings the key that made the ids of its
 * documents, and that hashes its features if it has no texts. */
struct nb_own_key {
    bool present;
    bool hashes_features;
    unsigned char bytes[NB_KEY_BYTES];
};
int nb_own_key_write(const struct nb_own_key *key, struct nb_buffer *out);
int nb_own_key_read(struct nb_own_key *key, struct nb_string stored, struct nb_error *error);

struct nb_model_record {
    uint32_t number;
    struct nb_string settings; /* by nb_settings_write; borrowed */
    struct nb_string key;      /* by nb_own_key_write; borrowed */
};
int nb_model_record_write(const struct nb_model_record *record, struct nb_buffer *out);
/* Does not decode the key: nb_own_key_read does. */
int nb_model_record_read(struct nb_model_record *record, struct nb_string stored,
                         struct nb_error *error);

#endif
