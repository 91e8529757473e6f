/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of documents in memory that follow from the ledger: the current entries, and what finds
 * near-duplicates. On the thread that changes the counts; a list belongs to one model.
 */
#ifndef NB_CORE_LEDGER_DOCUMENT_LISTS_H
#define NB_CORE_LEDGER_DOCUMENT_LISTS_H

#include "core/base/random.h"
#include "core/counts/model.h"
#include "core/store/store.h"

struct nb_current_entries;
struct nb_near_duplicate_list;

/* ---- current entries ------------------------------------------------------------------------- */

/* A sorted list of the numbers of a model's current labelled entries, for drawing documents at
 * random. On the thread that changes the counts; a list belongs to one model.
 *
 * The list is a view of the ledger: it is built from the index of entries when it is missing, and
 * updated with each change. A draw depends on the current entries alone, not on superfluous entries
 * or on the entries of other models. The list takes eight bytes a document; drawing one entry takes
 * a microsecond for a million documents. */

/* Creates an empty list. NULL: out of memory. */
struct nb_current_entries *nb_current_entries_new(void);
/* Builds the list from the index of entries. Returns 0 or a code. */
int nb_current_entries_load(const struct nb_view *view, uint32_t model,
                            struct nb_current_entries **current, struct nb_error *error);
void nb_current_entries_free(struct nb_current_entries **current);
/* Returns the bytes that the list takes; 0 for NULL. */
size_t nb_current_entries_memory(const struct nb_current_entries *current);

/* Adds the number of a labelled entry, which is above all others. Returns 0 or NB_NO_MEMORY. */
int nb_current_entries_add(struct nb_current_entries *current, uint64_t number);
/* Removes the number of a superseded entry. Does nothing if it is not in the list. */
void nb_current_entries_remove(struct nb_current_entries *current, uint64_t number);

/* The number of entries in the list. */
uint64_t nb_current_entries_count(const struct nb_current_entries *current);
bool nb_current_entries_has(const struct nb_current_entries *current, uint64_t number);
/* Draws `count` entries, at most all, without replacement, and writes them to `numbers` in
 * ascending order. Every subset of this size is equally likely. Takes 2 ns for each entry of the
 * list. */
void nb_current_entries_sample(const struct nb_current_entries *current, struct nb_random *random,
                               uint64_t count, uint64_t *numbers);
/* Sets `numbers` to the first entries after `after` and before `before`, at most `most`, ascending.
 * Returns how many. */
size_t nb_current_entries_between(const struct nb_current_entries *current, uint64_t after,
                                  uint64_t before, uint64_t *numbers, size_t most);
/* Draws one entry, each with the same probability. The list must not be empty. */
uint64_t nb_current_entries_draw(const struct nb_current_entries *current,
                                 struct nb_random *random);

/* ---- near-duplicates ------------------------------------------------------------------------- */

/* A list of recently learned documents that finds near-duplicates of a new document. On the thread
 * that changes the counts; a list belongs to one model.
 *
 * Two documents are compared by the Jaccard similarity of their sets of features, estimated by one
 * permutation hashing (Li, Owen and Zhang 2012): a hash divides the features into bins, and each
 * bin keeps its least hash. The estimate is the share of bins that agree, among those that are not
 * empty in both documents. With 64 bins and some hundred features its standard deviation is 0.04 at
 * a similarity of 0.9, and 0.06 at 0.5. Ids of features are hashed under a secret key, so nobody
 * can craft documents that only seem to be similar.
 *
 * The list is a view of the ledger: it is rebuilt from the last current entries when it is missing.
 * Its decisions show only in the ledger: a document that is not learned has no entry. So the list
 * is not stored, and a replay does not need it. */

enum { NB_SIGNATURE_BINS = 64 };

/* The signature of a document: for each bin a byte of its least hash, or 0 if the bin is empty. */
struct nb_signature {
    uint8_t bins[NB_SIGNATURE_BINS];
    bool is_sparse; /* some bins are empty */
};

struct nb_signature_maker {
    uint32_t least[NB_SIGNATURE_BINS];
};
void nb_signature_begin(struct nb_signature_maker *maker);
/* Adds the id of a feature; the order does not matter. */
void nb_signature_add(struct nb_signature_maker *maker, uint64_t feature);
void nb_signature_end(const struct nb_signature_maker *maker, struct nb_signature *signature);

/* The estimated similarity, 0 to 1; 1 for two documents without features. */
double nb_signature_similarity(const struct nb_signature *a, const struct nb_signature *b);

/* Lists the documents that were learned or changed last, at most `window`, from the ledger in
 * `view`; `counts` are those of the model. Skips damaged entries. On success the caller owns
 * *near_duplicate_list. Returns 0 or a code. */
int nb_near_duplicate_list_load(const struct nb_view *view, uint32_t model,
                                const struct nb_model *counts, uint64_t window,
                                struct nb_near_duplicate_list **near_duplicate_list,
                                struct nb_error *error);
void nb_near_duplicate_list_free(struct nb_near_duplicate_list **near_duplicate_list);
uint64_t nb_near_duplicate_list_window(const struct nb_near_duplicate_list *near_duplicate_list);
/* Returns the bytes that a list takes, 88 for each document; 0 for NULL. */
size_t nb_near_duplicate_list_memory(const struct nb_near_duplicate_list *near_duplicate_list);

/* Adds a document, whose entry number is above all others. Returns 0 or NB_NO_MEMORY. */
int nb_near_duplicate_list_add(struct nb_near_duplicate_list *near_duplicate_list, uint64_t number,
                               uint32_t label, const struct nb_signature *signature);
/* Removes the document of an entry that is no longer current. */
void nb_near_duplicate_list_remove(struct nb_near_duplicate_list *near_duplicate_list,
                                   uint64_t number);

/* The nearest document of a label. */
struct nb_nearest {
    uint64_t count;    /* documents that are at least as similar as requested */
    uint64_t number;   /* entry of the nearest document; of the oldest one if several are nearest */
    double similarity; /* similarity of the nearest document */
};
/* Searches the last `window` documents: 10,000 in 0.1 ms. */
struct nb_nearest
nb_near_duplicate_list_find(const struct nb_near_duplicate_list *near_duplicate_list,
                            uint32_t label, const struct nb_signature *signature,
                            double similarity);

#endif
