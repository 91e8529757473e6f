/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C (SIGINT) and SIGTERM for commands that have to end something first. Main thread.
 */
#ifndef NB_CLIENT_INTERRUPT_H
#define NB_CLIENT_INTERRUPT_H

#include <stdbool.h>

#include "core/base/error.h"

/* From now on these signals are only noted. With `again_kills` Ctrl-C alone is, the second one ends
 * the program at once, and so does SIGTERM: whoever gives a command up after a time, as timeout(1)
 * and mail software do, must not have to wait for a daemon that hangs. */
void nb_interrupt_catch(bool again_kills);

/* Returns 0, or NB_STOPPING when a signal was noted. */
int nb_interrupt_check(struct nb_error *error);

#endif
