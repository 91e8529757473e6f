/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a model: its last verdicts, each with the bag of the document that it is about, so
 * that the document can be learned later without being sent again. They stand in tables of their
 * own and not in the ledger: nothing of them is in the model. HISTORY has the records by a number
 * that ascends with time; HISTORY_IDS has the number of a document's record by its id, of which
 * there is one at most: the newest. The verbs that write are the writer's; the others are for any
 * thread that holds a view.
 *
 * Stored form: a byte, 1 if the document was truncated; the time in milliseconds since 1970 (8
 * bytes); id, Message-ID, Subject, source and verdict (strings); the probability (a double); the
 * tokenizer's fields, the positions and the number of features (varints); these (a string,
 * core/ledger/coding/features_coding.h); and of each that came more than once how many places it is
 * behind the one before it, or from the first at 1, and its count less one (varints).
 */
#ifndef NB_CORE_WRITER_REMEMBER_REMEMBERED_HISTORY_H
#define NB_CORE_WRITER_REMEMBER_REMEMBERED_HISTORY_H

#include "core/base/pack.h"
#include "core/store/lmdb/store.h"

/* A verdict that is kept. Texts borrow from what was read. */
struct nb_history_record {
    struct nb_string id;
    struct nb_string message_id; /* of a mail, without angle brackets; may be empty */
    struct nb_string subject;    /* only with the setting `history_subject`; may be empty */
    struct nb_string source;     /* who asked */
    struct nb_string verdict;    /* the label that won, ... */
    double probability;          /* ... and its probability */
    int64_t time;
    bool truncated;
    uint32_t fields; /* of the tokenizer, which made the features */
    uint64_t positions;
    size_t feature_count;
    struct nb_string features; /* stored form */
    struct nb_string repeats;  /* the same */
};

/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_history_write(const struct nb_history_record *record, struct nb_buffer *out);
/* Reads it; the features are not decoded. Returns 0 or NB_CORRUPT. */
int nb_history_read(struct nb_history_record *record, struct nb_string stored,
                    struct nb_error *error);

/* Puts a record under the next number, and removes the earlier one of the same id. Returns 0 or a
 * code. */
int nb_history_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_string stored, struct nb_error *error);
/* Finds the record of an id, if it is one of the newest `records` (UINT64_MAX: of all).
 * NB_NOT_FOUND without a text; NB_CORRUPT: it is damaged. */
int nb_history_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                    uint64_t records, struct nb_string *stored, struct nb_error *error);
/* Finds the newest record whose number is below `before`, and sets *number to its own. NB_NOT_FOUND
 * without a text: there is none. */
int nb_history_before(const struct nb_view *view, uint32_t model, uint64_t before, uint64_t *number,
                      struct nb_string *stored, struct nb_error *error);
/* Removes the record of an id; if the id's number is damaged, the history as a whole, since nobody
 * knows which record it is. Sets *removed to whether there was one. Returns 0 or a code. */
int nb_history_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                      bool *removed, struct nb_error *error);

/* Removes all records of a model. Returns 0 or a code. */
int nb_history_clear(const struct nb_view *view, uint32_t model, struct nb_error *error);

/* What stays of a history. */
struct nb_history_limits {
    uint64_t records; /* numbers of so many, from the newest on; 0: none */
    int64_t since;    /* verdicts from this time on, in milliseconds since 1970 */
};
/* Removes up to `most` records that the limits leave out, the oldest first. A history of which a
 * record is damaged goes as a whole, since nobody knows how old that is. Sets *removed to how many
 * went. Returns 0 or a code. */
int nb_history_trim(const struct nb_view *view, uint32_t model,
                    const struct nb_history_limits *limits, size_t most, size_t *removed,
                    struct nb_error *error);

#endif
