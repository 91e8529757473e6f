/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles Ctrl-C (SIGINT) and SIGTERM for commands that must finish something before they exit.
 * Main thread.
 */
#ifndef NB_CLIENT_INTERRUPT_H
#define NB_CLIENT_INTERRUPT_H

#include <stdbool.h>

#include "core/base/error.h"

/* From now on the two signals are only noted. With `again_kills` only the first Ctrl-C is noted; a
 * second one and SIGTERM end the program at once. Programs that end a command after a time, such as
 * timeout(1) and mail software, must not have to wait for a daemon that hangs. */
void nb_interrupt_catch(bool again_kills);

/* Returns 0, or NB_STOPPING when a signal was noted. */
int nb_interrupt_check(struct nb_error *error);

#endif
