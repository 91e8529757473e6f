/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/server.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "server/access/access.h"
#include "server/access/tls.h"
#include "server/access/user_map.h"

static void free_one(struct nb_configuration *c)
{
    nb_access_free(&c->access);
    nb_tls_free(&c->tls);
    nb_user_map_free(&c->users);
    nb_config_deinit(&c->config);
    free(c);
}

int nb_configuration_new(struct nb_config *config, const struct nb_configuration **made,
                         struct nb_error *error)
{
    struct nb_configuration *c = calloc(1, sizeof *c);
    *made = NULL;
    if (c == NULL) {
        nb_config_deinit(config);
        return nb_error_no_memory(error);
    }
    c->config = *config;
    *config = (struct nb_config){0};
    atomic_init(&c->holders, 1);
    int rc = nb_access_new(&c->config, &c->access, error);
    if (rc == 0)
        rc = nb_tls_new(&c->config, &c->tls, error);
    if (rc == 0)
        rc = nb_user_map_read(c->config.filter_user_map, &c->users, error);
    if (rc != 0)
        free_one(c);
    else
        *made = c;
    return rc;
}

/* The count of holders is the only member that changes. */
static struct nb_configuration *changeable(const struct nb_configuration *configuration)
{
    union {
        const struct nb_configuration *held;
        struct nb_configuration *own;
    } c = {.held = configuration};
    return c.own;
}

void nb_configuration_release(const struct nb_configuration **configuration)
{
    if (*configuration == NULL)
        return;
    struct nb_configuration *c = changeable(*configuration);
    unsigned before = atomic_fetch_sub(&c->holders, 1);
    assert(before > 0);
    if (before == 1)
        free_one(c);
    *configuration = NULL;
}

/* ---- the one in force --------------------------------------------------------------------------
 */

struct nb_configurations {
    pthread_mutex_t lock; /* of `current`; nothing else is taken while it is held */
    const struct nb_configuration *current;
};

struct nb_configurations *nb_configurations_new(const struct nb_configuration *first)
{
    struct nb_configurations *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    (void)pthread_mutex_init(&made->lock, NULL); /* cannot fail with the GNU library */
    atomic_fetch_add(&changeable(first)->holders, 1);
    made->current = first;
    return made;
}

void nb_configurations_free(struct nb_configurations **configurations)
{
    if (*configurations == NULL)
        return;
    nb_configuration_release(&(*configurations)->current);
    (void)pthread_mutex_destroy(&(*configurations)->lock); /* fails only when locked: a bug */
    free(*configurations);
    *configurations = NULL;
}

const struct nb_configuration *nb_configurations_take(struct nb_configurations *configurations)
{
    pthread_mutex_lock(&configurations->lock);
    const struct nb_configuration *current = configurations->current;
    atomic_fetch_add(&changeable(current)->holders, 1);
    pthread_mutex_unlock(&configurations->lock);
    return current;
}

void nb_configurations_put(struct nb_configurations *configurations,
                           const struct nb_configuration *next)
{
    pthread_mutex_lock(&configurations->lock);
    const struct nb_configuration *old = configurations->current;
    configurations->current = next;
    pthread_mutex_unlock(&configurations->lock);
    nb_configuration_release(&old);
}
