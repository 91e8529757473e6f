/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a test program that tokenizes: sets the tokenizer up, and runs the suite.
 */
#ifndef NB_TESTS_UNIT_RUN_WITH_TOKENIZER_H
#define NB_TESTS_UNIT_RUN_WITH_TOKENIZER_H

#include "tests/unit/run.h"
#include "tokenizer/document.h"

/* As test_run. Once in a program: the MIME library cannot be set up again. */
static inline int test_run_with_tokenizer(Suite *suite)
{
    if (nb_tokenizer_setup(NULL) != 0)
        return EXIT_FAILURE;
    int status = test_run(suite);
    nb_tokenizer_teardown();
    return status;
}

#endif
