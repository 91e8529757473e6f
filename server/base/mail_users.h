/* SPDX-License-Identifier: Apache-2.0
 *
 * The users whose mail was learned, and those whose mail was judged, since the start. A user who is
 * in only one of the two sets may have two names (server/access/user_map.h). Any thread.
 */
#ifndef NB_SERVER_BASE_MAIL_USERS_H
#define NB_SERVER_BASE_MAIL_USERS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/key.h"
#include "core/base/string.h"

/* Bits: how a user's mail was seen. */
enum { NB_USER_TAUGHT = 1, NB_USER_ASKED = 2, NB_USER_SEEN = 4 };

/* Further users are not counted: recipients that do not exist must not fill the memory. */
enum { NB_MAIL_USERS_MOST = 49152 };

struct nb_mail_users {
    pthread_mutex_t lock; /* of all below; nothing else is taken while it is held */
    struct nb_key key;
    uint64_t *slots;                     /* owned, 512 KB; NULL before the first user */
    size_t count, by_seen[NB_USER_SEEN]; /* of users; by what was seen of them */
};

void nb_mail_users_init(struct nb_mail_users *users);
void nb_mail_users_deinit(struct nb_mail_users *users);

/* Notes NB_USER_TAUGHT or NB_USER_ASKED for a user, by the name of the user's model. Without memory
 * nothing is noted. */
void nb_mail_users_note(struct nb_mail_users *users, struct nb_string model, unsigned seen);

/* Returns the number of users with exactly these bits. */
size_t nb_mail_users_count(struct nb_mail_users *users, unsigned seen);

#endif
