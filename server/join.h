/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd --join: a node begins with the store of another one. The other's backup is fetched
 * by bayesc, which knows HTTP, TLS and access tokens; the daemon links none of that. Main thread.
 */
#ifndef NB_SERVER_JOIN_H
#define NB_SERVER_JOIN_H

#include <stdint.h>

#include "core/base/error.h"

struct nb_config;
struct nb_engine_settings;

/* Tells the other nodes that this one begins, and puts the store of the node at the URL `peer` into
 * the directory of the settings, which is empty; *position is its place in the streams. Returns 0
 * or a code, with the directory empty: those of nb_engine_restore_node, or NB_IO with the words of
 * bayesc. */
int nb_join(const struct nb_engine_settings *settings, const struct nb_config *config,
            const char *peer, uint64_t *position, struct nb_error *error);

#endif
