/* SPDX-License-Identifier: Apache-2.0
 *
 * The actions of bayesd other than serving. They work on a store that no daemon has open, on the
 * configuration, or on the file of tokens. Each prints its result on standard output. Main thread.
 */
#ifndef NB_SERVER_OFFLINE_H
#define NB_SERVER_OFFLINE_H

#include "core/base/error.h"

struct nb_config;
struct nb_options;

/* Carries out options->action, which is not NB_ACTION_SERVE, NB_ACTION_HELP or NB_ACTION_VERSION.
 * Uses up the strings of `config`. Returns 0, a code with *error set, or 1 when --verify, --rebuild
 * or --restore found a difference. A daemon may be running while the file of tokens is changed; it
 * reads the file again on SIGHUP. */
int nb_offline_act(const struct nb_options *options, struct nb_config *config,
                   struct nb_error *error);

#endif
