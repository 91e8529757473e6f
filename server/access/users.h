/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of users of this machine, for an option. Read once; read-only afterwards, for any thread.
 */
#ifndef NB_SERVER_ACCESS_USERS_H
#define NB_SERVER_ACCESS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"

struct nb_users {
    uid_t *all; /* owned */
    size_t count;
    bool has_everybody;
};

/* Reads "postfix, 1001", or "*" for everybody. `option` names the list in messages. Returns 0,
 * NB_NO_MEMORY, or NB_INVALID for a user who is unknown on this machine or is the overflow user
 * (nb_users_have); on failure nothing is owned. */
int nb_users_read(struct nb_users *users, const char *list, const char *option,
                  struct nb_error *error);
void nb_users_deinit(struct nb_users *users);

/* Whether the list has the user. The kernel's overflow user (65534, "nobody") matches only "*": in
 * a user name space (systemd's PrivateUsers=, containers) all users without a mapping appear as
 * this user. */
bool nb_users_have(const struct nb_users *users, uid_t user);

#endif
