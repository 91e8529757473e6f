/* SPDX-License-Identifier: Apache-2.0
 *
 * The most probable labels of a verdict (?top=N): of a model with thousands of labels a reply that
 * lists them all is longer than what it is about. Pure functions; any thread.
 */
#ifndef NB_SERVER_JSON_TOP_H
#define NB_SERVER_JSON_TOP_H

#include <stdbool.h>
#include <stddef.h>

struct nb_verdict;

enum { NB_TOP_MOST = 10000 /* labels that ?top= may ask for */ };

/* Which labels of a verdict are told. */
struct nb_top {
    bool *is_told; /* owned: by index of the verdict's labels, then the unseen one; NULL: all */
};

/* Chooses the `most` most probable labels of a verdict, among them the one that wins; of equally
 * probable ones those that sort first. 0, or no fewer than there are: all. Labels without documents
 * count as one, their `unseen_label`. Returns 0 or NB_NO_MEMORY; nb_top_deinit is needed after 0.
 */
int nb_top_choose(struct nb_top *top, const struct nb_verdict *verdict, size_t most);
void nb_top_deinit(struct nb_top *top);

static inline bool nb_top_tells(const struct nb_top *top, size_t label)
{
    return top->is_told == NULL || top->is_told[label];
}

#endif
