/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/users.h"

#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "server/access/list.h"

enum { OVERFLOW_USER = 65534 }; /* DEFAULT_OVERFLOWUID of Linux */

/* Finds a user by name or number. */
static bool find_user(struct nb_string item, uid_t *user)
{
    uint64_t number;
    char name[256];
    if (nb_number_read_whole(item, &number)) {
        *user = (uid_t)number;
        return number < UINT32_MAX;
    }
    if (item.length >= sizeof name)
        return false;
    memcpy(name, item.bytes, item.length);
    name[item.length] = '\0';
    const struct passwd *entry = getpwnam(name); /* the main thread's alone */
    if (entry != NULL)
        *user = entry->pw_uid;
    return entry != NULL;
}

static int add(struct nb_users *users, struct nb_string item, const char *option,
               struct nb_error *error)
{
    int shown = item.length < 64 ? (int)item.length : 64;
    uid_t user;
    if (nb_string_equals(item, "*")) {
        users->has_everybody = true;
        return 0;
    }
    if (!find_user(item, &user))
        return nb_error_set(error, NB_INVALID, "%s: this machine has no user '%.*s'", option, shown,
                            item.bytes);
    if (user == OVERFLOW_USER)
        return nb_error_set(error, NB_INVALID,
                            "%s: '%.*s' is what every user looks like whom the daemon's name space "
                            "does not know; name another user, or * for everybody",
                            option, shown, item.bytes);
    users->all[users->count++] = user;
    return 0;
}

int nb_users_read(struct nb_users *users, const char *list, const char *option,
                  struct nb_error *error)
{
    struct nb_string item;
    *users = (struct nb_users){.all = calloc(nb_list_count(list) + 1, sizeof *users->all)};
    int rc = users->all != NULL ? 0 : nb_error_no_memory(error);
    while (rc == 0 && nb_list_next(&list, &item))
        rc = add(users, item, option, error);
    if (rc != 0)
        nb_users_deinit(users);
    return rc;
}

void nb_users_deinit(struct nb_users *users)
{
    free(users->all);
    *users = (struct nb_users){.all = NULL};
}

bool nb_users_have(const struct nb_users *users, uid_t user)
{
    for (size_t i = 0; i < users->count; i++) {
        if (users->all[i] == user)
            return true;
    }
    return users->has_everybody;
}
