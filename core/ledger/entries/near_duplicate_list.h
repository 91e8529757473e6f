/* SPDX-License-Identifier: Apache-2.0
 *
 * Near-duplicates: which of the documents that were learned last are nearly the same as a new one.
 * On the thread that changes the counts; a list belongs to one model.
 *
 * How near two documents are is the Jaccard similarity of their sets of features, as estimated by
 * one permutation hashing (Li, Owen and Zhang 2012): features are divided into bins by a hash, each
 * bin keeps its least, and the share of bins that agree, of those that are not empty in both, is
 * the estimate. With 64 bins and some hundred features its standard deviation is 0.04 at a
 * similarity of 0.9, and 0.06 at 0.5. Ids of features are hashed under a secret key: nobody can
 * make documents that only seem to be near.
 *
 * The list is a view of the ledger: it is made again from the last current entries when it is not
 * there. What it decides leaves no trace but in the ledger: a document that is not learned has no
 * entry. So nothing of it is stored, and a replay does not need it.
 */
#ifndef NB_CORE_LEDGER_ENTRIES_NEAR_DUPLICATE_LIST_H
#define NB_CORE_LEDGER_ENTRIES_NEAR_DUPLICATE_LIST_H

#include "core/counts/model.h"
#include "core/store/lmdb/store.h"

enum { NB_SIGNATURE_BINS = 64 };

/* What is kept of a document: for each bin a byte of its least feature, or 0 if it is empty. */
struct nb_signature {
    uint8_t bins[NB_SIGNATURE_BINS];
    bool is_sparse; /* there are empty ones */
};

struct nb_signature_maker {
    uint32_t least[NB_SIGNATURE_BINS];
};
void nb_signature_begin(struct nb_signature_maker *maker);
/* Takes the id of a feature; the order does not matter. */
void nb_signature_add(struct nb_signature_maker *maker, uint64_t feature);
void nb_signature_end(const struct nb_signature_maker *maker, struct nb_signature *signature);

/* The estimated similarity, 0 to 1; 1 for two documents without features. */
double nb_signature_similarity(const struct nb_signature *a, const struct nb_signature *b);

struct nb_near_duplicate_list;

/* The documents that were learned or changed last, at most `window`, from the ledger as it is in
 * `view`; `counts` are those of the model. Entries that do not read back are passed over. On
 * success the caller owns *twins. Returns 0 or a code. */
int nb_near_duplicate_list_load(const struct nb_view *view, uint32_t model,
                                const struct nb_model *counts, uint64_t window,
                                struct nb_near_duplicate_list **near_duplicate_list,
                                struct nb_error *error);
void nb_near_duplicate_list_free(struct nb_near_duplicate_list **near_duplicate_list);
uint64_t nb_near_duplicate_list_window(const struct nb_near_duplicate_list *near_duplicate_list);
/* Bytes that a list takes, 88 for each document; 0 for NULL. */
size_t nb_near_duplicate_list_memory(const struct nb_near_duplicate_list *near_duplicate_list);

/* Adds a document, whose entry is above all others. Returns 0 or NB_NO_MEMORY. */
int nb_near_duplicate_list_add(struct nb_near_duplicate_list *near_duplicate_list, uint64_t number,
                               uint32_t label, const struct nb_signature *signature);
/* Its entry is current no more. */
void nb_near_duplicate_list_remove(struct nb_near_duplicate_list *near_duplicate_list,
                                   uint64_t number);

/* The nearest of a label's documents. */
struct nb_twin {
    uint64_t count;    /* documents at least this similar */
    uint64_t number;   /* entry of the nearest; of equally near ones the oldest */
    double similarity; /* of the nearest */
};
/* Looks at the last `window` documents: 10,000 in 0.1 ms. */
struct nb_twin nb_near_duplicate_list_find(const struct nb_near_duplicate_list *near_duplicate_list,
                                           uint32_t label, const struct nb_signature *signature,
                                           double similarity);

#endif
