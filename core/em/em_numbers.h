/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers that documents have in the fields of a model, as EM sees them
 * (core/bayes/em.h): distances from the mean of all documents of the corpus, in
 * deviations. A field whose numbers are all equal is left out. For core/em alone.
 */
#ifndef NB_CORE_EM_EM_NUMBERS_H
#define NB_CORE_EM_EM_NUMBERS_H

#include "core/em/em_corpus.h"

struct nb_document_numbers {
    uint32_t count;       /* number of fields */
    unsigned *attributes; /* index of each field in the settings; owned, like the arrays below */
    double *centres, *deviations; /* of each field: mean and deviation of its numbers */
    double *values;             /* numbers of the documents without a label, at d * count + field */
    struct nb_normal *labelled; /* those of documents with a label, at field * labels + label */
};
void nb_document_numbers_deinit(struct nb_document_numbers *numbers);

/* Reads the numbers of a corpus. The caller deinits *numbers in any case. Returns 0 or
 * NB_NO_MEMORY. */
int nb_document_numbers_read(struct nb_document_numbers *numbers, const struct nb_corpus *corpus,
                             struct nb_parent_chain *chain);

/* Writes the numbers of documents with a label, including the counts in `besides`, to
 * labelled[field * labels + label]. Makes `blend` anew. Returns 0 or NB_NO_MEMORY. Takes the
 * chain's locks. */
int nb_document_numbers_labelled(const struct nb_document_numbers *numbers,
                                 const struct nb_corpus *corpus, struct nb_parent_chain *chain,
                                 const struct nb_besides *besides, struct nb_blend *blend,
                                 struct nb_normal *labelled);

static inline struct nb_em_numbers nb_document_numbers_of(const struct nb_document_numbers *numbers)
{
    return (struct nb_em_numbers){numbers->count, numbers->values, numbers->labelled};
}

#endif
