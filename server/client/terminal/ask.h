/* SPDX-License-Identifier: Apache-2.0
 *
 * A question to the person at the terminal. Main thread.
 */
#ifndef NB_CLIENT_ASK_H
#define NB_CLIENT_ASK_H

#include <stdbool.h>

/* Whether there is somebody to ask: standard input and standard error are terminals. */
bool nb_ask_is_possible(void);

/* Prints a printf-formatted question, whose control characters become spaces, and " [y/N] " on
 * standard error, and reads a line. Returns whether it begins with y or Y. */
bool nb_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
