/* SPDX-License-Identifier: Apache-2.0
 *
 * From the configuration to what the engine is opened with: by the daemon that serves, and by the
 * commands on a store that nobody serves. Main thread.
 */
#ifndef NB_SERVER_CONFIGURED_ENGINE_H
#define NB_SERVER_CONFIGURED_ENGINE_H

#include "core/base/error.h"
#include "core/base/key.h"

struct nb_config;
struct nb_engine_settings;

/* Sets all that the configuration says of a store, except what nodes share. The strings are those
 * of `config`. */
void nb_engine_settings_of(const struct nb_config *config, struct nb_engine_settings *settings);

/* Where nodes share their changes, all have one key, and a refit is one step: one that is under way
 * is in memory alone, and a node that starts anew would fit otherwise than the others. Without
 * [nodes] database nothing is changed. `key` is the caller's, and borrowed by `settings`. Returns
 * 0, NB_INVALID for options that do not go together, or what nb_nodes_read_key returns. */
int nb_engine_settings_share(const struct nb_config *config, unsigned char key[NB_KEY_BYTES],
                             struct nb_engine_settings *settings, struct nb_error *error);

#endif
