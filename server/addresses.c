/* SPDX-License-Identifier: Apache-2.0 */
#include "server/addresses.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "server/base/listen_unix.h"

int nb_addresses_listen(const struct nb_config *config, struct nb_addresses *addresses,
                        int sockets[NB_LISTEN_SOCKETS], struct nb_error *error)
{
    static const mode_t modes[] = {0600, 0660, 0666}; /* as the option table names them */
    const char *tls = config->tls_only ? config->listen : config->tls_listen;
    int rc = 0;
    *addresses = (struct nb_addresses){.port.socket = -1,
                                       .tls.socket = -1,
                                       .has_port = !config->tls_only,
                                       .has_tls = tls[0] != '\0'};
    sockets[NB_LISTEN_FILE] = -1;
    if (addresses->has_port)
        rc = nb_listen(config->listen, &addresses->port, error);
    if (rc == 0 && addresses->has_tls)
        rc = nb_listen(tls, &addresses->tls, error);
    if (rc == 0 && config->socket[0] != '\0')
        rc = nb_listen_unix(config->socket, modes[config->socket_mode], &sockets[NB_LISTEN_FILE],
                            error);
    sockets[NB_LISTEN_PORT] = addresses->port.socket;
    sockets[NB_LISTEN_TLS] = addresses->tls.socket;
    for (int i = 0; rc != 0 && i < NB_LISTEN_SOCKETS; i++) {
        if (sockets[i] >= 0)
            (void)close(sockets[i]); /* it was never used */
    }
    return rc;
}

void nb_addresses_print(const struct nb_addresses *addresses)
{
    if (addresses->has_tls && addresses->has_port)
        (void)fprintf(stderr, "bayesd: with TLS on https://%s\n", addresses->tls.address);
    if (addresses->has_port)
        (void)fprintf(stderr, "bayesd: ready on http://%s\n", addresses->port.address);
    else
        (void)fprintf(stderr, "bayesd: ready on https://%s\n", addresses->tls.address);
}
