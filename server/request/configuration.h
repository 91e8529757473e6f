/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration in force: the options and what is made of them, as one immutable value. A
 * reload puts a new one in its place; a request keeps the one that it began with to its end. So
 * every request sees one configuration, and nobody waits for a reload. Any thread.
 *
 * What else is made from options and shall be read again with them (certificates, lists) is a
 * member here: nb_configuration_new makes it, and a failure there leaves the old value in force.
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

/* Takes over the strings of `config`, also on failure, and makes the rest of them. Held once, by
 * the caller. Returns 0, NB_NO_MEMORY, or NB_INVALID for options that do not go together. */
int nb_configuration_new(struct nb_config *config, const struct nb_configuration **made,
                         struct nb_error *error);

/* Lets go of it; the last holder frees it. NULL is allowed inside. */
void nb_configuration_release(const struct nb_configuration **configuration);

/* ---- the one in force --------------------------------------------------------------------------
 */

struct nb_configurations;

/* Begins with `first`, which it holds itself. NULL when there is no memory. */
struct nb_configurations *nb_configurations_new(const struct nb_configuration *first);
void nb_configurations_free(struct nb_configurations **configurations);

/* The one in force, held for the caller, who releases it. */
const struct nb_configuration *nb_configurations_take(struct nb_configurations *configurations);

/* Puts `next` in force, whose hold it takes over. Who holds the old one keeps it. */
void nb_configurations_put(struct nb_configurations *configurations,
                           const struct nb_configuration *next);

#endif
