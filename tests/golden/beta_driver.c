/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers each line "A B TAIL UPPER" of standard input with the quantile of the Beta distribution,
 * for beta.py to compare with its own slow computation.
 */
#include <stdio.h>

#include "core/jobs/generate/beta.h"

int main(void)
{
    double a, b, tail;
    int upper;
    while (scanf("%lf %lf %lf %d", &a, &b, &tail, &upper) == 4)
        printf("%.17g\n", nb_beta_quantile(a, b, tail, upper != 0));
    return 0;
}
