/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/server.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "server/http/access.h"
#include "server/http/tls.h"
#include "server/http/user_map.h"

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

/* Returns the configuration for changing its count of holders, the only member that changes. */
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

/* ---- the one in force ------------------------------------------------------------------------ */

void nb_configurations_begin(struct nb_server *server, const struct nb_configuration *first)
{
    (void)pthread_mutex_init(&server->lock, NULL); /* cannot fail with the GNU library */
    atomic_fetch_add(&changeable(first)->holders, 1);
    server->in_force = first;
}

void nb_configurations_end(struct nb_server *server)
{
    nb_configuration_release(&server->in_force);
    (void)pthread_mutex_destroy(&server->lock); /* fails only when locked: a bug */
}

const struct nb_configuration *nb_configurations_take(struct nb_server *server)
{
    pthread_mutex_lock(&server->lock);
    const struct nb_configuration *taken = server->in_force;
    atomic_fetch_add(&changeable(taken)->holders, 1);
    pthread_mutex_unlock(&server->lock);
    return taken;
}

void nb_configurations_put(struct nb_server *server, const struct nb_configuration *next)
{
    pthread_mutex_lock(&server->lock);
    const struct nb_configuration *old = server->in_force;
    server->in_force = next;
    pthread_mutex_unlock(&server->lock);
    nb_configuration_release(&old);
}
