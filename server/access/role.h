/* SPDX-License-Identifier: Apache-2.0
 *
 * The roles of clients, each of which may do what those before it may. A constant alone.
 */
#ifndef NB_SERVER_ACCESS_ROLE_H
#define NB_SERVER_ACCESS_ROLE_H

/* Who may use a route once access tokens are configured. */
enum nb_role { NB_ROLE_NONE, NB_ROLE_CLASSIFY, NB_ROLE_TRAIN, NB_ROLE_ADMIN };

#endif
