/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of recently learned documents that finds near-duplicates of a new document. On the thread
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
 * is not stored, and a replay does not need it.
 */
#ifndef NB_CORE_LEDGER_NEAR_DUPLICATE_LIST_H
#define NB_CORE_LEDGER_NEAR_DUPLICATE_LIST_H

#include "core/counts/model.h"
#include "core/store/store.h"

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

struct nb_near_duplicate_list;

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
struct nb_twin {
    uint64_t count;    /* documents that are at least as similar as requested */
    uint64_t number;   /* entry of the nearest document; of the oldest one if several are nearest */
    double similarity; /* similarity of the nearest document */
};
/* Searches the last `window` documents: 10,000 in 0.1 ms. */
struct nb_twin nb_near_duplicate_list_find(const struct nb_near_duplicate_list *near_duplicate_list,
                                           uint32_t label, const struct nb_signature *signature,
                                           double similarity);

#endif
