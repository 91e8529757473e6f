/* SPDX-License-Identifier: Apache-2.0
 *
 * The labels of [filter]: which of a model's labels are spam, which one is ham, and how likely all
 * that is spam is against all that is not. Any thread; a verdict belongs to one.
 */
#ifndef NB_SERVER_FILTER_FILTER_LABELS_H
#define NB_SERVER_FILTER_FILTER_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_config;
struct nb_verdict;

enum { NB_FILTER_LABELS = 16, NB_FILTER_LABEL = 64 + 1 /* a label with its NUL */ };

/* Takes the next item off a list that commas separate, without the blanks around it; false when
 * there is none left. Labels may have blanks inside. */
bool nb_filter_list_next(const char **list, struct nb_string *item);

/* Whether spam_label is a list of 1 to NB_FILTER_LABELS labels, each once, and ham_label a label
 * that is none of them. NB_INVALID says what is not. */
int nb_filter_check_labels(const struct nb_config *config, struct nb_error *error);

/* Whether it is one of the labels of spam. */
bool nb_filter_is_spam(const struct nb_config *config, const char *label);

/* The label under which spam is learned, the first of the list. */
void nb_filter_learned_label(const struct nb_config *config, char label[NB_FILTER_LABEL]);

/* How a verdict stands to the labels of [filter]. */
struct nb_filter_spam {
    bool is_known;      /* documents have at least one label of spam; else the rest is not set */
    bool has_others;    /* and at least one label that is none: then there is a verdict */
    double probability; /* of all labels of spam together, with caution
                           (server/filter/filter_mail.h) */
    const char *label;  /* the likeliest of them; the verdict's */
    size_t count;       /* labels of spam that documents have */
};

/* Decides `ready` and `missing` of a verdict by the labels of [filter] alone: ham, and that label
 * of spam which has the most documents, must have enough. Other labels of the
 * model are ignored, such as a mistyped name. For callers that ask for `ready`: the filter itself
 * judges with fewer documents, too. */
void nb_filter_need(const struct nb_config *config, struct nb_verdict *verdict);

/* The probability of spam in a verdict that was not reset: the sum of the labels of spam, against
 * all others. Where all labels but ham and one of spam have few documents, it is judged as if these
 * two were alone (nb_verdict_against): a label that had nine spam in a row would take all spam.
 * Returns 0 or NB_NO_MEMORY. */
int nb_filter_find_spam(const struct nb_config *config, struct nb_verdict *verdict,
                        struct nb_filter_spam *spam);

#endif
