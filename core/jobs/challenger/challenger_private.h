/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of core/jobs/challenger share. For these alone.
 */
#ifndef NB_CORE_JOBS_CHALLENGER_CHALLENGER_PRIVATE_H
#define NB_CORE_JOBS_CHALLENGER_CHALLENGER_PRIVATE_H

#include "core/base/names.h"
#include "core/ledger/ledger.h"
#include "core/model/live.h"

/* Writes the name of a model's challenger. Returns false if it would be too long. */
bool nb_challenger_name(struct nb_string model, char name[NB_MODEL_NAME_MOST + 1]);

/* Memory for comparing and reading documents; `{0}` is empty. */
struct nb_challenger_pair {
    struct nb_entry other;
    struct nb_rows rows, other_rows;
};
void nb_challenger_pair_deinit(struct nb_challenger_pair *pair);

/* Sets *is_same to whether the challenger has the document of this current entry of the champion,
 * with the same label and content; pair->other is its entry then. Both models are loaded, and
 * nothing drops rows of either. Returns 0 or a code. */
int nb_challenger_has(const struct nb_view *view, const struct nb_live *champion,
                      const struct nb_live *challenger, const struct nb_entry *entry,
                      struct nb_challenger_pair *pair, bool *is_same, struct nb_error *error);

#endif
