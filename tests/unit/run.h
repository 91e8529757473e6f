/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a test program: runs its suite.
 */
#ifndef NB_TESTS_UNIT_RUN_H
#define NB_TESTS_UNIT_RUN_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite, as verbosely as the environment says (CK_VERBOSITY), and frees it. Returns the
 * status of the program: EXIT_SUCCESS if no test failed. */
static inline int test_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
