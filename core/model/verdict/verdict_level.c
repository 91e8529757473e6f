/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes a verdict into one on the labels of a level.
 */
#include <assert.h>
#include <string.h>

#include "core/model/verdict/verdict_private.h"

int nb_verdict_at_level(struct nb_verdict *verdict, unsigned level)
{
    struct nb_levels *levels = &verdict->private_->levels;
    assert(verdict->size > 0 && verdict->explanation_count == 0);
    const struct nb_level_scores below = {verdict->labels, verdict->documents, verdict->log_scores,
                                          verdict->probabilities, verdict->size};
    if (nb_levels_sum(levels, &below, level) != 0)
        return NB_NO_MEMORY;
    assert(levels->size <= verdict->size);
    memcpy(verdict->labels, levels->labels, levels->size * sizeof *verdict->labels);
    memcpy(verdict->documents, levels->documents, levels->size * sizeof *verdict->documents);
    verdict->log_scores = levels->log_scores;
    verdict->probabilities = levels->probabilities;
    verdict->size = levels->size;
    verdict->best = levels->best;
    nb_verdict_fill_ready(verdict);
    return 0;
}
