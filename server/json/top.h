/* SPDX-License-Identifier: Apache-2.0
 *
 * The most probable labels of a verdict (?top=N). For a model with thousands of labels, a reply
 * that lists all of them would be longer than the document. Pure functions; any thread.
 */
#ifndef NB_SERVER_JSON_TOP_H
#define NB_SERVER_JSON_TOP_H

#include <stdbool.h>
#include <stddef.h>

struct nb_verdict;

enum { NB_TOP_MOST = 10000 /* labels that ?top= may ask for */ };

/* The labels of a verdict that the reply lists. */
struct nb_top {
    bool *is_told; /* owned: by index of the verdict's labels, then the unseen one; NULL: all */
};

/* Chooses the `most` most probable labels of a verdict, always with the label that wins; of equally
 * probable labels, those that sort first. If `most` is 0 or at least the number of labels, all are
 * listed. All labels without documents count as one, `unseen_label`. Returns 0 or NB_NO_MEMORY;
 * after 0 the caller deinits *top. */
int nb_top_choose(struct nb_top *top, const struct nb_verdict *verdict, size_t most);
void nb_top_deinit(struct nb_top *top);

static inline bool nb_top_tells(const struct nb_top *top, size_t label)
{
    return top->is_told == NULL || top->is_told[label];
}

#endif
