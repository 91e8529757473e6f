/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/evaluate/evaluation.h"

#include <stdlib.h>

#include "core/model/evaluate/evaluator_private.h"

size_t nb_evaluator_progress(const struct nb_evaluator *evaluator,
                             struct nb_progress_stretch stretches[NB_PROGRESS_STRETCHES])
{
    size_t size = evaluator->size;
    size_t count = size < NB_PROGRESS_STRETCHES ? size : NB_PROGRESS_STRETCHES;
    size_t from = 0;
    for (size_t i = 0; i < count; i++) {
        /* floor((i + 1) size / count), without a product that could overflow */
        size_t to = (size / count) * (i + 1) + (size % count) * (i + 1) / count;
        stretches[i] = (struct nb_progress_stretch){.documents = to - from};
        for (; from < to; from++)
            stretches[i].errors += evaluator->rows[from].label != evaluator->rows[from].predicted;
    }
    return count;
}

void nb_evaluation_deinit(struct nb_evaluation *evaluation)
{
    free(evaluation->labels);
    free(evaluation->confusion);
    *evaluation = (struct nb_evaluation){0};
}
