/* SPDX-License-Identifier: Apache-2.0
 *
 * From the sources of the configuration (file, environment, command line) to the configuration in
 * force, at the start and again on SIGHUP, and to the settings of the engine. Main thread.
 */
#ifndef NB_SERVER_CONFIGURE_H
#define NB_SERVER_CONFIGURE_H

#include "core/base/error.h"
#include "core/base/key.h"

struct nb_config;
struct nb_configuration;
struct nb_engine_settings;
struct nb_options;
struct nb_server;

/* Sets all that the configuration says of a store, except what nodes share. The strings are those
 * of `config`. */
void nb_engine_settings_of(const struct nb_config *config, struct nb_engine_settings *settings);

/* Where nodes share their changes, all have one key, and a refit is one step: one that is under way
 * is in memory alone, and a node that starts anew would fit otherwise than the others. Without
 * [nodes] database nothing is changed. `key` is the caller's, and borrowed by `settings`. Returns
 * 0, NB_INVALID for options that do not go together, or what nb_nodes_read_key returns. */
int nb_engine_settings_share(const struct nb_config *config, unsigned char key[NB_KEY_BYTES],
                             struct nb_engine_settings *settings, struct nb_error *error);

/* Reads all sources, in the order in which the later wins. Returns 0 or what nb_config_load does;
 * after an error the configuration is not usable, and the caller's to deinit all the same. */
int nb_configure_read(const struct nb_options *options, struct nb_config *config,
                      struct nb_error *error);

/* Makes the options one configuration to serve with, if they go together: also with the address
 * that is listened on. Takes over the strings of `config`, also on failure. Returns 0,
 * NB_NO_MEMORY or NB_INVALID; then *made is NULL. */
int nb_configure_make(struct nb_config *config, const struct nb_configuration **made,
                      struct nb_error *error);

/* Replaces every token by its hash: for listings that others may see. Returns 0, NB_NO_MEMORY, or
 * NB_INVALID for what is no token. */
int nb_configure_hide(struct nb_config *config, struct nb_error *error);

/* Tells the log its level and form. */
void nb_configure_log(const struct nb_config *config);

/* Tells those of a configuration in force who keep a value of their own: the log's level, limits of
 * all requests together. */
void nb_configure_apply(struct nb_server *server, const struct nb_config *config);

/* Reads the sources again while the daemon serves. What is live is in force for the requests that
 * come from now on; the log says what has changed, and what of it needs a restart. After an error,
 * which is logged, nothing has changed. */
void nb_configure_again(const struct nb_options *options, struct nb_server *server);

#endif
