/* SPDX-License-Identifier: Apache-2.0
 *
 * The quarantine: changes of documents that wait until somebody applies or drops them. They are
 * stored in a table of their own, one for each document id of a model, and not in the ledger: they
 * do not affect the model before they are applied. Functions that write are called on the writer's
 * thread; the others on any thread that holds a view.
 *
 * Stored form: a byte, bit 0 if the document is to be forgotten, bit 1 if it was truncated; the
 * time in milliseconds since 1970 (8 bytes); source and label (strings); the tokenizer's fields and
 * the positions (varints); and each feature: its id (8 bytes), its count (varint) and its text
 * (string).
 */
#ifndef NB_CORE_LEDGER_QUARANTINE_ENTRIES_H
#define NB_CORE_LEDGER_QUARANTINE_ENTRIES_H

#include "core/base/buffer.h"
#include "core/store/store.h"

/* A waiting change. Texts are borrowed from the stored form. */
struct nb_quarantined {
    bool untrain; /* the change forgets the document, and has no features */
    bool truncated;
    int64_t time;
    struct nb_string source, label;
    uint32_t fields; /* fields of the tokenizer settings with which the features were made */
    uint64_t positions;
    struct nb_string features; /* stored form */
    size_t feature_count;      /* set by nb_quarantined_read */
};

struct nb_quarantined_feature {
    uint64_t id;
    uint32_t count;
    struct nb_string text;
};

/* Appends the stored form of a feature to the bytes of `features`. Returns 0 or NB_NO_MEMORY. */
int nb_quarantined_add(struct nb_buffer *features, const struct nb_quarantined_feature *feature);
/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_quarantined_write(const struct nb_quarantined *quarantined, struct nb_buffer *out);
/* Reads the stored form, and checks all features. Returns 0 or NB_CORRUPT. */
int nb_quarantined_read(struct nb_quarantined *quarantined, struct nb_string stored,
                        struct nb_error *error);
/* Returns the next feature; `u` begins as an unpacker of `features`. */
struct nb_quarantined_feature nb_quarantined_next(struct nb_unpacker *u);

/* Sums over the quarantine of a model. They are stored in WAITING, as two varints, so that a lost
 * change is noticed. */
struct nb_quarantine_sums {
    uint64_t documents;
    uint64_t bytes; /* at least the bytes in use: those of a removed damaged change are subtracted
                       only when all changes are gone */
};
/* Reads the sums. Returns 0 or a code; NB_CORRUPT: they are damaged. */
int nb_quarantine_sums(const struct nb_view *view, uint32_t model, struct nb_quarantine_sums *sums,
                       struct nb_error *error);
/* As nb_quarantine_sums, but without the change that waits for this id, because a new change would
 * replace it. */
int nb_quarantine_sums_without(const struct nb_view *view, uint32_t model, struct nb_string id,
                               struct nb_quarantine_sums *sums, struct nb_error *error);
/* Stores a change, replaces an earlier one for the same id, and updates the sums. Returns 0 or a
 * code; NB_CORRUPT: the sums are damaged. */
int nb_quarantine_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, struct nb_error *error);
/* Removes the change that waits for the id, if there is one, even if it is damaged. Leaves damaged
 * sums unchanged. Returns 0 or a code. */
int nb_quarantine_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                         struct nb_error *error);
/* Removes up to `most` changes without reading them, and the sums along with the last ones. Sets
 * *deleted to the number removed. Returns 0 or a code. */
int nb_quarantine_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                        struct nb_error *error);
/* Moves all waiting changes of the model `from` to the model `to`, whose quarantine is empty. Sets
 * *left to the number that stay: all if one is damaged, or if they take more than 128 MiB, too much
 * for one transaction; else 0. Returns 0 or a code. */
int nb_quarantine_move(const struct nb_view *view, uint32_t from, uint32_t to, uint64_t *left,
                       struct nb_error *error);
/* Sets *has to whether exactly these bytes wait for the id. Returns 0 or a code. */
int nb_quarantine_has(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, bool *has, struct nb_error *error);

#endif
