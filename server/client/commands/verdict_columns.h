/* SPDX-License-Identifier: Apache-2.0
 *
 * What bayesc classify prints of a verdict beside its label and probability: the decision by a
 * threshold, the runner-up labels, and the tokens that weigh most. Main thread.
 */
#ifndef NB_CLIENT_VERDICT_COLUMNS_H
#define NB_CLIENT_VERDICT_COLUMNS_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/buffer.h"

enum { NB_VERDICT_TOP_MOST = 1000, NB_VERDICT_EVIDENCE_MOST = 1000 };

/* The columns that the user wants. */
struct nb_verdict_columns {
    double threshold;       /* below 0: no decision */
    uint64_t top, evidence; /* labels, tokens; 0: none */
};

/* Appends the path of the operation, with the query that asks the daemon for these columns, and a
 * NUL. All functions here that return an int return 0 or NB_NO_MEMORY. */
int nb_verdict_columns_path(const struct nb_verdict_columns *columns, struct nb_buffer *path);

/* Returns the label that a person reads first: the decision if there is a threshold ("unsure"),
 * else the label. Borrowed from the verdict, or "?". */
const char *nb_verdict_columns_first(const struct nb_verdict_columns *columns,
                                     const json_t *verdict);

/* Append the cells of a CSV row, each after the separator: decision; predicted_2, probability_2 and
 * so on to `top`; evidence. The cells are empty if the verdict is NULL (the document was
 * refused). */
int nb_verdict_columns_head(const struct nb_verdict_columns *columns, char separator,
                            struct nb_buffer *out);
int nb_verdict_columns_csv(const struct nb_verdict_columns *columns, const json_t *verdict,
                           char separator, struct nb_buffer *out);

/* Appends the same columns for people, to be printed after the name of the document. The caller
 * must pass the text through nb_terminal_safe before it prints it on a terminal. */
int nb_verdict_columns_text(const struct nb_verdict_columns *columns, const json_t *verdict,
                            struct nb_buffer *out);

#endif
