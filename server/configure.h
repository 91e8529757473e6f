/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the sources of the configuration (file, environment, command line), at the start and again
 * on SIGHUP, and makes the configuration in force and the settings of the engine from them. Main
 * thread.
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

/* Sets all settings that the configuration has for a store, except those of [nodes] (see
 * nb_engine_settings_share). The strings borrow from `config`. */
void nb_engine_settings_of(const struct nb_config *config, struct nb_engine_settings *settings);

/* Adds the settings of nodes that share their changes; without [nodes] database it changes nothing.
 * All nodes have one key. A refit is one step there: a refit in progress is only in memory, so a
 * node that restarts would fit other weights than the others. `settings` borrows `key`. Returns
 * 0, NB_INVALID for options that do not go together, or what nb_nodes_read_key returns. */
int nb_engine_settings_share(const struct nb_config *config, unsigned char key[NB_KEY_BYTES],
                             struct nb_engine_settings *settings, struct nb_error *error);

/* Reads all sources; a later source overrides an earlier one. Returns 0 or as nb_config_load. After
 * an error the configuration cannot be used, but the caller must still deinit it. */
int nb_configure_read(const struct nb_options *options, struct nb_config *config,
                      struct nb_error *error);

/* Warns of names of an earlier version that were read. */
void nb_configure_warn(const struct nb_config *config);

/* Makes the configuration to serve with. Checks that the options fit each other and the address to
 * listen on. Takes over the strings of `config`, also on failure. Returns 0, or NB_NO_MEMORY or
 * NB_INVALID with *made set to NULL. */
int nb_configure_make(struct nb_config *config, const struct nb_configuration **made,
                      struct nb_error *error);

/* Replaces every token by its hash, for listings that others may see. Returns 0, NB_NO_MEMORY, or
 * NB_INVALID for a text that is no token. */
int nb_configure_hide(struct nb_config *config, struct nb_error *error);

/* Sets the level and the form of the log. */
void nb_configure_log(const struct nb_config *config);

/* Applies the options that are copied when a configuration comes into force: those of the log, and
 * the limits of all requests together. */
void nb_configure_apply(struct nb_server *server, const struct nb_config *config);

/* Reads the sources again while the daemon serves. Live options hold for later requests; the log
 * names the options that have changed, and those of them that need a restart. After an error, which
 * is logged, nothing has changed. */
void nb_configure_again(const struct nb_options *options, struct nb_server *server);

#endif
