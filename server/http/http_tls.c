/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS of a connection. The library makes the session; before the handshake the session gets the
 * certificate, the authorities and the priorities of the configuration in force, which the
 * connection holds as long as it lives. So a reload affects only later connections. The library
 * also does the handshake; handshakes.h handles its waits.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/http/http_call.h"
#include "server/request/configuration.h"
#include "server/request/server.h"
#include "server/tls/tls.h"

/* The library does not start without a certificate or a function that finds one. As each session
 * gets its own certificate, this function is never called, and its type does not matter. */
static void find_certificate(void)
{
    abort();
}

struct MHD_OptionItem nb_http_tls_option(void)
{
    return (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2, 0,
                                   (void *)(intptr_t)find_certificate};
}

void *nb_http_session(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info != NULL ? info->tls_session : NULL;
}

static void wait_for_client(void *user, bool writes)
{
    struct nb_connection *held = user;
    nb_handshakes_wait(held->http->handshakes, held, writes);
}

void nb_http_tls_begin(struct nb_connection *held, struct MHD_Connection *connection)
{
    held->configuration = nb_configurations_take(held->http->server->configurations);
    const struct nb_tls *tls = held->configuration->tls;
    held->shaking.connection = connection;
    held->shaking.socket =
        (struct nb_tls_socket){.file = held->file, .wait = wait_for_client, .user = held};
    if (tls != NULL && nb_tls_begin(tls, nb_http_session(connection), &held->shaking.socket))
        return;
    (void)nb_connection_enter(held, NB_PHASE_OVER);
    (void)shutdown(held->file, SHUT_RDWR); /* the library notices that */
}

void nb_http_tls_end(struct nb_connection *held)
{
    if (held->is_tls)
        nb_handshakes_forget(held->http->handshakes, held);
    free(held->certificate);
    held->certificate = NULL;
    nb_configuration_release(&held->configuration);
}

const char *nb_http_certificate(struct nb_connection *held, struct MHD_Connection *connection)
{
    char name[NB_TLS_NAME];
    if (!held->is_known) {
        held->is_known = true;
        if (nb_tls_client(held->configuration->tls, nb_http_session(connection), name))
            held->certificate = strdup(name); /* without memory: no role by it */
    }
    return held->certificate;
}
