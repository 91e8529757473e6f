/* SPDX-License-Identifier: Apache-2.0
 *
 * The counts of one model in memory: a row for every feature, with its occurrences and documents in
 * each label, and the sums that the formulas need. Integers only.
 *
 * Threads: ONE writer calls the functions that change (they take the write lock inside, for
 * microseconds). The writer reads without the lock. Any other thread must hold the read lock for
 * every function that takes a const model: rows, cells, labels and the index may move when the
 * writer makes them grow. Only nb_model_rows and nb_model_memory need no lock. Returned
 * pointers are valid until nb_model_unlock, names of labels until the model is freed.
 *
 * Rows are numbered in the order of first sight and never renumbered. A row can be dropped when no
 * document has its feature any more: it loses its id, and the next new feature takes the row. A
 * row takes 10 bytes: its id, and 16 bits for cells (label, occurrences n, documents d) with small
 * counts. Larger cells of up to two labels take 64 bits beside the row (core/counts/cells.h). Rows
 * with three or more labels, or with very large counts, have their cells elsewhere
 * (core/counts/cells.h), so that with a thousand labels only counts above zero take memory. An
 * index of cache-line buckets finds rows by id.
 */
#ifndef NB_CORE_COUNTS_MODEL_H
#define NB_CORE_COUNTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/feature.h"
#include "core/base/number.h"
#include "core/counts/cells.h"

struct nb_model;
struct nb_pair_values;
struct nb_pairs;

/* The sums of a model over the parts of its attributes (core/base/feature.h). Few models have
 * attributes, so the sums are a table of their own, and other models pay for one pointer. For
 * core/counts alone.
 *
 * Threads: as in core/counts/model.h. The table moves only under the write lock.
 */
struct nb_part_sum {
    uint64_t occurrences, presences;
};

struct nb_parts {
    unsigned count;           /* parts; even: an attribute has two */
    uint32_t label_room;      /* labels that `sums` has room for */
    uint64_t *vocabulary;     /* by part; in the memory block of this struct */
    struct nb_part_sum *sums; /* [label * count + part]; likewise */
    /* Owned; moments of numeric values, [(label * count + part) / 2]; NULL: no such value yet. */
    struct nb_moments *moments;
};
size_t nb_parts_memory(const struct nb_parts *parts); /* NULL: 0 */

/* The sums of a label over a part; the table must have this part. */
static inline struct nb_part_sum *nb_parts_at(const struct nb_parts *parts, uint32_t label,
                                              unsigned part)
{
    return &parts->sums[(size_t)label * parts->count + part];
}

/* The moments of a label for the attribute of a part; the table must have moments. */
static inline struct nb_moments *nb_parts_moments(const struct nb_parts *parts, uint32_t label,
                                                  unsigned part)
{
    return &parts->moments[((size_t)label * parts->count + part) / 2];
}

/* n occurrences of the feature in row `row`. */
struct nb_row_count {
    uint32_t row;
    uint32_t count;
};

struct nb_model *nb_model_new(void); /* NULL: out of memory */
void nb_model_free(struct nb_model **model);

void nb_model_read_lock(const struct nb_model *model);
void nb_model_unlock(const struct nb_model *model);

/* ---- labels: numbered in the order of first sight, never renumbered -------------------------- */

/* Sets *label to the number of the label, which is added if it is new. Returns 0, NB_TOO_LARGE
 * (NB_LABELS_MOST) or NB_NO_MEMORY. */
int nb_model_label(struct nb_model *model, struct nb_string name, uint32_t *label);
/* Gives a label another name, which no label has. Names returned before stay readable. Returns 0 or
 * NB_NO_MEMORY; cannot fail after nb_model_reserve_rename for the same name. */
int nb_model_rename_label(struct nb_model *model, uint32_t label, struct nb_string name);
/* Allocates the memory that renaming a label to `name` needs. Returns 0 or NB_NO_MEMORY. */
int nb_model_reserve_rename(struct nb_model *model, struct nb_string name);
/* Removes the labels from number `labels` on, newest first; they must have no counts. */
void nb_model_truncate_labels(struct nb_model *model, uint32_t labels);
/* The label's number or UINT32_MAX. */
uint32_t nb_model_find_label(const struct nb_model *model, struct nb_string name);
uint32_t nb_model_label_count(const struct nb_model *model);
/* The name of a label, NUL-terminated too; owned by the model and readable until the model is
 * freed, also after a rename. */
struct nb_string nb_model_label_name(const struct nb_model *model, uint32_t label);
/* The label numbers in the order of their names (bytewise); nb_model_label_count entries; valid
 * while the read lock is held. */
const uint32_t *nb_model_labels_sorted(const struct nb_model *model);
/* Documents of the label, and of all labels together. */
uint64_t nb_model_documents(const struct nb_model *model, uint32_t label);
uint64_t nb_model_documents_all(const struct nb_model *model);
/* How many labels have documents. */
uint32_t nb_model_labels_with_documents(const struct nb_model *model);
/* Adds `change`, which may be negative, to a label's number of documents. Readers should never see
 * a word in more documents than there are: call this before nb_model_add adds a document, and after
 * it takes one out. */
void nb_model_add_documents(struct nb_model *model, uint32_t label, int64_t change);

/* ---- rows ------------------------------------------------------------------------------------ */

uint32_t nb_model_rows(const struct nb_model *model);              /* how many there are */
uint32_t nb_model_find(const struct nb_model *model, uint64_t id); /* row or NB_NO_ROW */
uint64_t nb_model_row_id(const struct nb_model *model, uint32_t row);
/* Appends a row without counts for an id that has none. Returns 0, NB_TOO_LARGE (2^31 - 2 rows) or
 * NB_NO_MEMORY. Takes the lock only when something must grow: the new index is built beside the
 * old one and swapped in under the lock, so that readers do not wait while it is built. */
int nb_model_append(struct nb_model *model, uint64_t id, uint32_t *row);
/* As nb_model_append, but reuses a dropped row if there is one. Rows of long runs of neighbours are
 * reused first, so that the new rows of one document lie together. Rows of short runs wait for
 * their neighbours until they are a third of all rows. */
int nb_model_add_row(struct nb_model *model, uint64_t id, uint32_t *row);
/* Prefetch the index bucket of an id that will be added: first NB_MODEL_EXPECTED rows ahead, then,
 * when the bucket has arrived, a further bucket if the row must go there. */
enum { NB_MODEL_EXPECTED = 32, NB_MODEL_EXPECTED_AGAIN = NB_MODEL_EXPECTED / 2 };
void nb_model_expect(const struct nb_model *model, uint64_t id);
void nb_model_expect_again(const struct nb_model *model, uint64_t id);
/* Drops a row without counts: look-ups no longer find its feature. Returns 0 or NB_NO_MEMORY. */
int nb_model_drop_row(struct nb_model *model, uint32_t row);
/* Gives the row that was dropped last its id back, and sets *row. */
void nb_model_undrop_row(struct nb_model *model, uint64_t id, uint32_t *row);
/* Sorts the dropped rows by the runs of neighbours that they form, after some were dropped. Must
 * not be called while nb_model_return_rows may still follow. */
void nb_model_sort_dropped(struct nb_model *model);
/* The number of rows that are dropped and not reused. */
uint32_t nb_model_dropped_rows(const struct nb_model *model);
/* Drops again the rows that nb_model_add_row has reused since nb_model_dropped_rows was `dropped`.
 * They must be without counts, and no row may have been dropped meanwhile. Needs no memory. */
void nb_model_return_rows(struct nb_model *model, uint32_t dropped);
/* For loading, while no other thread sees the model: appends rows; NB_DROPPED_ID makes a row
 * without an id. Returns 0, NB_TOO_LARGE, NB_NO_MEMORY, or NB_CORRUPT if an id has no field or
 * occurs twice, because stored ids may be damaged; the model is unusable then. */
int nb_model_append_all(struct nb_model *model, const uint64_t *ids, size_t size);
/* For loading in the order of row numbers. The functions append a row without an id, give a row its
 * id, and, at the end, collect the rows without ids. Each returns 0, NB_TOO_LARGE or NB_NO_MEMORY.
 */
int nb_model_append_dropped(struct nb_model *model);
int nb_model_name_row(struct nb_model *model, uint32_t row, uint64_t id);
int nb_model_collect_dropped(struct nb_model *model);
/* Whether all these rows have features, that is, none is dropped. */
bool nb_model_have_features(const struct nb_model *model, const struct nb_row_count *counts,
                            size_t size);
/* Whether no document has the feature of the row. */
bool nb_model_row_is_unused(const struct nb_model *model, uint32_t row);

/* Makes room in the index and the rows for `rows` rows, before a store is loaded. Returns 0 or
 * NB_NO_MEMORY. */
int nb_model_reserve(struct nb_model *model, uint32_t rows);
/* As nb_model_reserve, for a model without rows. Until nb_model_end_loading only
 * nb_model_append_all and nb_model_set_cells may fill the model, and nobody may look rows up:
 * another thread may put them into the index meanwhile. nb_model_append_all returns
 * NB_CORRUPT for more than `rows` rows, and nb_model_end_loading if an id occurs twice. The caller
 * must call nb_model_end_loading in any case. */
int nb_model_begin_loading(struct nb_model *model, uint32_t rows);
int nb_model_end_loading(struct nb_model *model);
/* Finds the rows of many features at once, NB_NO_ROW for features without one. Many rows are
 * prefetched before the first is needed, which takes a fifth of the time of single look-ups in a
 * large model. `rows` has room for `size`. */
void nb_model_find_all(const struct nb_model *model, const struct nb_feature *features, size_t size,
                       uint32_t *rows);
/* As nb_model_find_all; also sets unused[i] to whether no document has the feature: it has no row,
 * or its row has no counts. `unused` has room for `size`, too. */
void nb_model_find_use(const struct nb_model *model, const struct nb_feature *features, size_t size,
                       uint32_t *rows, bool *unused);
/* Rows found for features, and their cells if these were read; valid until the lock is released. */
struct nb_found {
    const uint32_t *rows;  /* borrowed; NB_NO_ROW: the feature has none */
    const uint64_t *cells; /* borrowed; as nb_model_find_cells reads them. NULL: not read yet */
};
/* As nb_model_find_all; also reads the cells of the rows, in the form of struct nb_row
 * (core/counts/cells.h), 0 for features without a row. So several formulas share one read of a
 * document's rows. `cells` has room for `size`, too. */
void nb_model_find_cells(const struct nb_model *model, const struct nb_feature *features,
                         size_t size, uint32_t *rows, uint64_t *cells);
/* Reads the cells of known rows in the same form. */
void nb_model_read_cells(const struct nb_model *model, const uint32_t *rows, size_t size,
                         uint64_t *cells);
/* Returns how many rows have lost their features so far, because they were dropped or removed.
 * While this number is unchanged, a row that was found still belongs to its feature. */
uint64_t nb_model_lost_rows(const struct nb_model *model);
/* Returns a number that grows with every row that gets an id, as soon as look-ups find the row.
 * Read it before a look-up: while it is unchanged and no rows are lost, no feature has got a row
 * that the look-up did not see, even though the writer adds rows meanwhile. Needs no lock. */
uint64_t nb_model_named_rows(const struct nb_model *model);
/* Removes the rows from `rows` on, newest first; they must have no counts. */
void nb_model_truncate(struct nb_model *model, uint32_t rows);

/* Adds (sign +1) or takes out (-1) a document's bag: n += count, d += 1 for each row, for `label`.
 * `counts` has distinct rows. Sets *fresh (may be NULL) to how many of the rows, in token
 * fields only, were outside the vocabulary (no occurrence in any label) before. Returns 0,
 * NB_TOO_LARGE (a count would pass 2^32 - 1) or NB_NO_MEMORY, and then nothing was changed; taking
 * out always succeeds. Taking out more than was added is a programming error. */
int nb_model_add(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                 size_t size, int sign, size_t *fresh);

/* A training, relabelling or untraining: adds a bag to one label and removes a bag from one. A
 * label of UINT32_MAX means no bag. */
struct nb_model_change {
    uint32_t add_label;
    const struct nb_row_count *add;
    size_t add_size;
    uint32_t take_label;
    const struct nb_row_count *take;
    size_t take_size;
};
/* Makes the change, with the labels' numbers of documents, under one lock: no reader sees half of
 * it. *fresh as in nb_model_add. Returns 0, or NB_NO_MEMORY or NB_TOO_LARGE with nothing changed.
 */
int nb_model_change(struct nb_model *model, const struct nb_model_change *change, size_t *fresh);

/* Removes a counted document, calls `call` for its leave-one-out score, and puts the document back.
 * One lock covers all, so that no reader sees the counts without it. For the writer. */
void nb_model_without(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                      size_t size, void (*call)(void *user), void *user);

/* Copies the non-zero cells of a row, ordered by label number, to `cells` (room for `room`).
 * Returns how many the row has, which may be more than `room`. */
size_t nb_model_cells(const struct nb_model *model, uint32_t row, struct nb_cell *cells,
                      size_t room);
/* n_wv alone: occurrences of the feature in `label`. */
uint32_t nb_model_count(const struct nb_model *model, uint32_t row, uint32_t label);
/* Sets a row's cells, ordered by label number, while a store is loaded: the row must be without
 * counts, and no other thread may see the model, because no lock is taken. Returns 0, NB_CORRUPT
 * (cells that no training gives) or NB_NO_MEMORY. */
int nb_model_set_cells(struct nb_model *model, uint32_t row, const struct nb_cell *cells,
                       size_t size);

/* ---- pairs of values ---------------------------------------------------------------------------
 *
 * The pairs of values that a model counts beside its features, if its settings have a structure
 * (core/counts/pairs.h).
 */

/* The model's table, kept up to date with its counts; NULL: it has none. */
const struct nb_pairs *nb_model_pairs(const struct nb_model *model);
/* Gives the model another table, which must have counted all of its documents (NULL: no table).
 * Takes ownership of it and frees the old one. */
void nb_model_put_pairs(struct nb_model *model, struct nb_pairs **pairs);

/* Collects the category values among the rows of a document. */
void nb_model_pair_values(const struct nb_model *model, const struct nb_pairs *pairs,
                          const struct nb_row_count *counts, size_t size,
                          struct nb_pair_values *values);

/* Whether a document with these rows fits into the model's table: see nb_pairs_fit. */
bool nb_model_pairs_fit(const struct nb_model *model, const struct nb_row_count *counts,
                        size_t size);

/* ---- sums, kept up to date ------------------------------------------------------------------- */

/* What a sum can range over, other than one field: all token fields; all token fields and the
 * values of attributes; or one part, as NB_FIRST_PART plus its number. */
enum { NB_TOKEN_FIELDS = NB_FIELDS, NB_ALL_TOKENS, NB_FIRST_PART };
/* n_v and d_v of a label: token occurrences, and the sum of d_wv, over the features of a field or
 * of one of these ranges. */
uint64_t nb_model_occurrences(const struct nb_model *model, uint32_t label, unsigned field);
uint64_t nb_model_presences(const struct nb_model *model, uint32_t label, unsigned field);
/* |V| of a field or one of these ranges: rows with a count above 0. */
uint64_t nb_model_vocabulary(const struct nb_model *model, unsigned field);
/* Returns the exact moments of an attribute's numbers in the label's documents. */
struct nb_moments nb_model_moments(const struct nb_model *model, uint32_t label,
                                   unsigned attribute);
/* A number above every part that a row has had; 0: the model has no values of attributes. */
unsigned nb_model_parts(const struct nb_model *model);

/* Returns a number that changes with every change of the counts. It is never 0, and no two models
 * ever have the same in one process. Views computed from the counts remember it. */
uint64_t nb_model_generation(const struct nb_model *model);

/* Bytes allocated for this model. */
size_t nb_model_memory(const struct nb_model *model);

#endif
