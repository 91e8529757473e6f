/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration in force: the options and the objects made from them, as one immutable value. A
 * reload replaces the value; a request keeps the one that it began with to its end. So every
 * request sees one configuration, and nobody waits for a reload. Any thread.
 *
 * Everything else that is made from options and reloaded with them (certificates, lists) is a
 * member here: nb_configuration_new makes it, and if that fails the old value stays in force.
 */
#ifndef NB_SERVER_REQUEST_CONFIGURATION_H
#define NB_SERVER_REQUEST_CONFIGURATION_H

#include <stdatomic.h>

#include "config/config.h"
#include "core/base/error.h"

struct nb_access;
struct nb_tls;
struct nb_user_map;

struct nb_configuration {
    struct nb_config config;   /* owned */
    struct nb_access *access;  /* owned */
    struct nb_tls *tls;        /* owned; NULL: there is no certificate */
    struct nb_user_map *users; /* owned; NULL: every name is a user */
    atomic_uint holders;       /* for configuration.c */
};

/* Takes over the strings of `config`, also on failure, and makes the other members. The caller
 * holds the result. Returns 0, NB_NO_MEMORY, or NB_INVALID for contradictory options. */
int nb_configuration_new(struct nb_config *config, const struct nb_configuration **made,
                         struct nb_error *error);

/* Releases a hold; the last holder frees the value. NULL is allowed inside. */
void nb_configuration_release(const struct nb_configuration **configuration);

/* ---- the one in force --------------------------------------------------------------------------
 */

struct nb_configurations;

/* Begins with `first`, which it holds itself. Returns NULL when there is no memory. */
struct nb_configurations *nb_configurations_new(const struct nb_configuration *first);
void nb_configurations_free(struct nb_configurations **configurations);

/* Returns the configuration in force, held for the caller, who must release it. */
const struct nb_configuration *nb_configurations_take(struct nb_configurations *configurations);

/* Puts `next` in force and takes over its hold. Holders of the old value keep it. */
void nb_configurations_put(struct nb_configurations *configurations,
                           const struct nb_configuration *next);

#endif
