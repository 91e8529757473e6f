/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a model: its last verdicts, each with the bag of its document, so that the
 * document can be learned later without being sent again. The records have tables of their own,
 * outside the ledger, because they do not affect the model. HISTORY maps a number, which ascends
 * with time, to a record. HISTORY_IDS maps a document's id to the number of its newest record;
 * older ones are removed. Only the writer may call the functions that write; the others are for any
 * thread that holds a view.
 *
 * Stored form: a byte, 1 if the document was truncated; the time in milliseconds since 1970 (8
 * bytes); id, Message-ID, Subject, source and verdict (strings); the probability (a double); the
 * tokenizer's fields, the positions and the number of features (varints); the features (a string,
 * core/ledger/features_coding.h); and for each feature that occurs more than once two
 * varints: its distance from the previous such feature (the first one's: its place, counted from
 * 1), and its count less one.
 */
#ifndef NB_CORE_WRITER_REMEMBERED_HISTORY_H
#define NB_CORE_WRITER_REMEMBERED_HISTORY_H

#include "core/base/buffer.h"
#include "core/store/store.h"

/* A verdict in the history. The strings are borrowed from the stored form. */
struct nb_history_record {
    struct nb_string id;
    struct nb_string message_id; /* of a mail, without angle brackets; may be empty */
    struct nb_string subject;    /* only with the setting `history_subject`; may be empty */
    struct nb_string source;     /* the client that asked for the verdict */
    struct nb_string verdict;    /* the winning label, ... */
    double probability;          /* ... and its probability */
    int64_t time;
    bool truncated;
    uint32_t fields; /* fields of the tokenizer that made the features */
    uint64_t positions;
    size_t feature_count;
    struct nb_string features; /* stored form */
    struct nb_string repeats;  /* stored form of the counts above 1 */
};

/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_history_write(const struct nb_history_record *record, struct nb_buffer *out);
/* Reads the stored form; the features are not decoded. Returns 0 or NB_CORRUPT. */
int nb_history_read(struct nb_history_record *record, struct nb_string stored,
                    struct nb_error *error);

/* Puts a record under the next number, and removes the earlier record of the same id. Returns 0 or
 * a code. */
int nb_history_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_string stored, struct nb_error *error);
/* Finds the record of an id, if it is one of the newest `records` (UINT64_MAX: of all). Returns 0,
 * NB_NOT_FOUND without a text, or NB_CORRUPT (the record is damaged). */
int nb_history_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                    uint64_t records, struct nb_string *stored, struct nb_error *error);
/* Finds the newest record whose number is below `before`, and sets *number to its number. Returns
 * NB_NOT_FOUND without a text if there is none. */
int nb_history_before(const struct nb_view *view, uint32_t model, uint64_t before, uint64_t *number,
                      struct nb_string *stored, struct nb_error *error);
/* Removes the record of an id. If the stored number of the record is damaged, removes the whole
 * history, because the record cannot be identified. Sets *removed to whether there was one. Returns
 * 0 or a code. */
int nb_history_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                      bool *removed, struct nb_error *error);

/* Removes all records of a model. Returns 0 or a code. */
int nb_history_clear(const struct nb_view *view, uint32_t model, struct nb_error *error);

/* The records that a history keeps. */
struct nb_history_limits {
    uint64_t records; /* the newest so many numbers; 0: none */
    int64_t since;    /* verdicts from this time on, in milliseconds since 1970 */
};
/* Removes up to `most` records that the limits leave out, the oldest first. If a record is damaged,
 * removes the whole history, because the age of the record is unknown. Sets *removed to the number
 * of removed records. Returns 0 or a code. */
int nb_history_trim(const struct nb_view *view, uint32_t model,
                    const struct nb_history_limits *limits, size_t most, size_t *removed,
                    struct nb_error *error);

#endif
