/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of a corpus (corpus.h): which rows of the model EM sees as words, which others the
 * documents have, and the counts of the words. Rows are read a few thousand at a time under the
 * model's read lock, so that neither the writer nor other readers wait long. For
 * core/em/corpus_read alone.
 */
#ifndef NB_CORE_EM_CORPUS_COLUMNS_H
#define NB_CORE_EM_CORPUS_COLUMNS_H

#include <stdbool.h>

#include "core/base/error.h"

struct nb_corpus;
struct nb_model;
struct nb_settings;

/* Makes the columns, and puts them into the documents in place of rows, words first. Words are
 * those that remain after min_count and skip_top (choice.h). `is_binary`: count documents instead
 * of occurrences. Returns 0, NB_TOO_LARGE (a limit of corpus.h is exceeded) or NB_NO_MEMORY. */
int nb_corpus_make_columns(struct nb_corpus *corpus, const struct nb_model *counts,
                           const struct nb_settings *settings, bool is_binary,
                           struct nb_error *error);

#endif
