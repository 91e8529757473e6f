/* SPDX-License-Identifier: Apache-2.0
 *
 * The actions of bayesd other than serving: with a store that no daemon has open, with the
 * configuration, and with the file of tokens. Each prints its result on standard output. Main
 * thread.
 */
#ifndef NB_SERVER_OFFLINE_H
#define NB_SERVER_OFFLINE_H

#include "core/base/error.h"

struct nb_config;
struct nb_options;

/* Does what options->action names, which is neither to serve nor to print help or the version. Uses
 * up the strings of `config`. Returns 0, a code with *error set, or 1 when --verify, --rebuild or
 * --restore found a difference. A daemon may be running while the file of tokens is changed; it
 * reads the file again on SIGHUP. */
int nb_offline_act(const struct nb_options *options, struct nb_config *config,
                   struct nb_error *error);

#endif
