/* SPDX-License-Identifier: Apache-2.0
 *
 * Error codes as exit statuses of sysexits.h. Any thread.
 */
#ifndef NB_CLIENT_EXIT_STATUS_H
#define NB_CLIENT_EXIT_STATUS_H

/* The exit status for a code below 0, of enum nb_code, enum nb_call_code or NB_CLIENT_USAGE. */
int nb_exit_status(int code);

#endif
