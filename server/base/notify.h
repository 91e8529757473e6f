/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the state of the service to systemd (sd_notify(3)). Main thread.
 */
#ifndef NB_SERVER_BASE_NOTIFY_H
#define NB_SERVER_BASE_NOTIFY_H

/* Sends a state such as "READY=1" to the socket in NOTIFY_SOCKET; without that variable it does
 * nothing. A service manager that does not listen is not an error. */
void nb_notify(const char *state);

#endif
