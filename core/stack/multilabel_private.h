/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of core/stack/multilabel*.c. Rules as in core/stack/multilabel.h.
 */
#ifndef NB_CORE_STACK_MULTILABEL_PRIVATE_H
#define NB_CORE_STACK_MULTILABEL_PRIVATE_H

#include <math.h>
#include <pthread.h>

#include "core/stack/multilabel.h"

struct nb_multilabel {
    bool is_by_the_book;
    double smoothing;
    /* The view changes under the mutex, and only when no reader uses it, because the generation of
     * the counts changes only when no reader has the model's lock. */
    pthread_mutex_t mutex;
    _Atomic uint64_t generation;
    struct nb_multilabel_labels labels; /* its arrays are owned by the members below */
    const char **names;                 /* owned; the names are copies in `text` */
    char *text;                         /* owned */
    uint64_t *documents, *occurrences;  /* by label; n_l of all tokens, by the book */
    uint32_t *begin, *members;
    const char **seen; /* owned; the model's names of sets when the labels were listed */
    uint32_t seen_count;
    uint64_t all_occurrences, vocabulary; /* by the book */
    atomic_size_t bytes;                  /* of the arrays */
};

/* tf of a word. */
static inline double nb_multilabel_tf(uint32_t count)
{
    return count <= 1 ? 1 : 1 + log((double)count);
}

static inline double nb_multilabel_idf(uint64_t documents, uint64_t of_word)
{
    return 1 + log(((double)documents + 1) / ((double)of_word + 1));
}

/* Makes room in the scores for all labels. Returns 0 or NB_NO_MEMORY. */
int nb_multilabel_scores_room(struct nb_multilabel_scores *scores, uint32_t labels);

/* Fills the log-odds of all labels by the book. Under the model's read lock; the scores have room.
 */
void nb_multilabel_book(const struct nb_multilabel *multilabel, const struct nb_model *model,
                        const struct nb_multilabel_document *document,
                        struct nb_multilabel_scores *scores);

#endif
