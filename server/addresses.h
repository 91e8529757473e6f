/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the daemon is reached: the sockets that the configuration asks for, and the lines that say
 * which ports these are. Main thread.
 */
#ifndef NB_SERVER_ADDRESSES_H
#define NB_SERVER_ADDRESSES_H

#include <stdbool.h>

#include "core/base/error.h"
#include "server/net/listen.h"

struct nb_config;

struct nb_addresses {
    struct nb_listener port, tls;
    bool has_port, has_tls;
};

/* Opens the listening sockets, which are the caller's then; -1 stands for none. Returns 0, or what
 * nb_listen and nb_listen_unix return; then none is left open. */
int nb_addresses_listen(const struct nb_config *config, struct nb_addresses *addresses,
                        int sockets[NB_LISTEN_SOCKETS], struct nb_error *error);

/* Tests and scripts read the ports from these lines: they are there whatever the log's level. The
 * last one says that the daemon is ready. */
void nb_addresses_print(const struct nb_addresses *addresses);

#endif
