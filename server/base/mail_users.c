/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/mail_users.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

/* A slot is a hash with what was seen in its lowest bits; 0: free. The number of slots is a power
 * of two above the most users, so that a search ends. */
enum { SLOTS = 65536 };
static const uint64_t SEEN = NB_USER_SEEN - 1;

void nb_mail_users_init(struct nb_mail_users *users)
{
    *users = (struct nb_mail_users){.count = 0};
    (void)pthread_mutex_init(&users->lock, NULL); /* cannot fail with the GNU library */
}

void nb_mail_users_deinit(struct nb_mail_users *users)
{
    free(users->slots);
    (void)pthread_mutex_destroy(&users->lock); /* fails only when locked: a bug */
}

/* Allocates the slots with the first user, because many daemons have none. */
static bool has_slots(struct nb_mail_users *users)
{
    if (users->slots != NULL)
        return true;
    users->slots = calloc(SLOTS, sizeof *users->slots);
    if (users->slots != NULL)
        nb_key_generate(&users->key);
    return users->slots != NULL;
}

static uint64_t *find(struct nb_mail_users *users, uint64_t hash)
{
    size_t at = (size_t)(hash >> 32) % SLOTS;
    while (users->slots[at] != 0 && (users->slots[at] & ~SEEN) != (hash & ~SEEN))
        at = (at + 1) % SLOTS;
    return &users->slots[at];
}

static void note(struct nb_mail_users *users, struct nb_string model, unsigned seen)
{
    uint64_t hash = nb_key_hash(&users->key, model.bytes, model.length);
    uint64_t *slot = find(users, hash);
    if (*slot == 0 && users->count == NB_MAIL_USERS_MOST)
        return;
    if (*slot == 0)
        users->count++;
    else
        users->by_seen[*slot & SEEN]--;
    *slot = (hash & ~SEEN) | (*slot & SEEN) | seen;
    users->by_seen[*slot & SEEN]++;
}

void nb_mail_users_note(struct nb_mail_users *users, struct nb_string model, unsigned seen)
{
    assert(seen == NB_USER_TAUGHT || seen == NB_USER_ASKED);
    pthread_mutex_lock(&users->lock);
    if (has_slots(users))
        note(users, model, seen);
    pthread_mutex_unlock(&users->lock);
}

size_t nb_mail_users_count(struct nb_mail_users *users, unsigned seen)
{
    assert(seen < NB_USER_SEEN);
    pthread_mutex_lock(&users->lock);
    size_t count = users->by_seen[seen];
    pthread_mutex_unlock(&users->lock);
    return count;
}
