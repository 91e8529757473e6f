/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/evaluate/evaluation.h"

#include <stdlib.h>

void nb_evaluation_deinit(struct nb_evaluation *evaluation)
{
    free(evaluation->labels);
    free(evaluation->confusion);
    *evaluation = (struct nb_evaluation){0};
}
