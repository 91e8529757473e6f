/* SPDX-License-Identifier: Apache-2.0
 *
 * The quarantine: changes of documents that wait until somebody applies or drops them. They stand
 * in a table of their own, one for each document id of a model, and not in the ledger: nothing of
 * them is in the model before they are applied. The verbs that write are the writer's; the others
 * are for any thread that holds a view.
 *
 * Stored form: a byte, bit 0 if the document is to be forgotten, bit 1 if it was truncated; the
 * time in milliseconds since 1970 (8 bytes); source and label (strings); the tokenizer's fields and
 * the positions (varints); and each feature: its id (8 bytes), its count (varint) and its text
 * (string).
 */
#ifndef NB_CORE_LEDGER_ENTRIES_QUARANTINE_ENTRIES_H
#define NB_CORE_LEDGER_ENTRIES_QUARANTINE_ENTRIES_H

#include "core/base/pack.h"
#include "core/store/lmdb/store.h"

/* A change that waits. Texts borrow from what was read. */
struct nb_quarantined {
    bool untrain; /* it forgets the document, and has no features */
    bool truncated;
    int64_t time;
    struct nb_string source, label;
    uint32_t fields; /* of the tokenizer, which made the features */
    uint64_t positions;
    struct nb_string features; /* stored form */
    size_t feature_count;      /* when read */
};

struct nb_quarantined_feature {
    uint64_t id;
    uint32_t count;
    struct nb_string text;
};

/* Appends a feature to what will be `features`. Returns 0 or NB_NO_MEMORY. */
int nb_quarantined_add(struct nb_buffer *features, const struct nb_quarantined_feature *feature);
/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_quarantined_write(const struct nb_quarantined *quarantined, struct nb_buffer *out);
/* Reads it, all features included. Returns 0 or NB_CORRUPT. */
int nb_quarantined_read(struct nb_quarantined *quarantined, struct nb_string stored,
                        struct nb_error *error);
/* The next feature of `features` that was read: `u` begins as an unpacker of them. */
struct nb_quarantined_feature nb_quarantined_next(struct nb_unpacker *u);

/* What the quarantine of a model holds. It stands in WAITING, two varints, so that it is
 * noticed when a change is lost. */
struct nb_quarantine_sums {
    uint64_t documents;
    uint64_t bytes; /* at least what they take: those of a damaged change stay until all are gone */
};
/* Reads them. Returns 0 or a code; NB_CORRUPT: they are damaged. */
int nb_quarantine_sums(const struct nb_view *view, uint32_t model, struct nb_quarantine_sums *sums,
                       struct nb_error *error);
/* The same without what waits for the id, whose place another change may take. */
int nb_quarantine_sums_without(const struct nb_view *view, uint32_t model, struct nb_string id,
                               struct nb_quarantine_sums *sums, struct nb_error *error);
/* Puts a change, in the place of an earlier one for the same id, and counts it. Returns 0 or a
 * code; NB_CORRUPT: the sums are damaged. */
int nb_quarantine_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, struct nb_error *error);
/* Removes what waits for the id, if anything does, also if it is damaged. Damaged sums are left as
 * they are. Returns 0 or a code. */
int nb_quarantine_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                         struct nb_error *error);
/* Removes up to `most` changes without reading them; the last ones take the sums along. Sets
 * *deleted to how many. Returns 0 or a code. */
int nb_quarantine_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                        struct nb_error *error);
/* Moves all that waits for the model `from` to the model `to`, for which nothing waits. Sets *left
 * to how many stay where they are: all of them if one is damaged, or if they take more than 128
 * MiB, which one transaction should not move; else none. Returns 0 or a code. */
int nb_quarantine_move(const struct nb_view *view, uint32_t from, uint32_t to, uint64_t *left,
                       struct nb_error *error);
/* Whether exactly these bytes wait for the id. Returns 0 or a code. */
int nb_quarantine_has(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, bool *has, struct nb_error *error);

#endif
