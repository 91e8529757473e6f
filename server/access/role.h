/* SPDX-License-Identifier: Apache-2.0
 *
 * The roles of clients. Each role includes those before it. A constant alone.
 */
#ifndef NB_SERVER_ACCESS_ROLE_H
#define NB_SERVER_ACCESS_ROLE_H

/* The role that a route requires once access tokens are configured. */
enum nb_role { NB_ROLE_NONE, NB_ROLE_CLASSIFY, NB_ROLE_TRAIN, NB_ROLE_ADMIN };

#endif
