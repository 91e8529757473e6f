/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells systemd how the service does (sd_notify(3)). Main thread.
 */
#ifndef NB_SERVER_BASE_NOTIFY_H
#define NB_SERVER_BASE_NOTIFY_H

/* Sends a state such as "READY=1" to the socket that NOTIFY_SOCKET names; without one, nothing. A
 * service manager that does not listen is not an error. */
void nb_notify(const char *state);

#endif
