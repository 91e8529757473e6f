/* SPDX-License-Identifier: Apache-2.0
 *
 * What bayesc classify tells of a verdict beside its label and probability: the decision by a
 * threshold, the labels that come next, and the tokens that weigh most. Main thread.
 */
#ifndef NB_CLIENT_VERDICT_COLUMNS_H
#define NB_CLIENT_VERDICT_COLUMNS_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/buffer.h"

enum { NB_VERDICT_TOP_MOST = 1000, NB_VERDICT_EVIDENCE_MOST = 1000 };

/* What is asked for. */
struct nb_verdict_columns {
    double threshold;       /* below 0: no decision */
    uint64_t top, evidence; /* labels, tokens; 0: none */
};

/* Appends the path of the operation, with the query that asks the daemon for it, and a NUL. Returns
 * 0 or NB_NO_MEMORY, as all here. */
int nb_verdict_columns_path(const struct nb_verdict_columns *columns, struct nb_buffer *path);

/* The label that a person reads first: the decision where one was asked for ("unsure"), else the
 * label; borrowed from the verdict, or "?". */
const char *nb_verdict_columns_first(const struct nb_verdict_columns *columns,
                                     const json_t *verdict);

/* Appends cells of a CSV, each behind the separator: decision; predicted_2, probability_2 and so on
 * to `top`; evidence. Of a verdict that is NULL (the document was refused) they are empty. */
int nb_verdict_columns_head(const struct nb_verdict_columns *columns, char separator,
                            struct nb_buffer *out);
int nb_verdict_columns_csv(const struct nb_verdict_columns *columns, const json_t *verdict,
                           char separator, struct nb_buffer *out);

/* Appends the same for people, as what follows the name of the document; nothing of it is safe for
 * a terminal before nb_terminal_safe. */
int nb_verdict_columns_text(const struct nb_verdict_columns *columns, const json_t *verdict,
                            struct nb_buffer *out);

#endif
