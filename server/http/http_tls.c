/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS of a connection. The library makes the session; before the handshake the session gets the
 * certificate, the authorities and the priorities of the configuration in force, which the
 * connection holds as long as it lives. So a reload affects only later connections.
 */
#include "server/http/http_tls.h"

#include <assert.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/platform/poller.h"
#include "server/http/http_call.h"
#include "server/http/server.h"
#include "server/http/tls.h"

struct nb_handshakes {
    pthread_t thread;
    int poller;
    int wake;             /* a bell: is_ending */
    pthread_mutex_t lock; /* guards the members below and the links of waiting connections; held
                             during calls of the library, which calls nothing here then */
    bool is_ending;
    struct nb_connection *waiting;
};

/* ---- waiting connections --------------------------------------------------------------------- */

/* Resumes a connection. It must not be touched afterwards, because it may end at once. */
static void resume(struct nb_handshakes *h, struct nb_connection *held)
{
    struct MHD_Connection *connection = held->shaking.connection;
    assert(held->shaking.before != NULL || h->waiting == held); /* it is in the list */
    if (held->shaking.before != NULL)
        held->shaking.before->shaking.after = held->shaking.after;
    else
        h->waiting = held->shaking.after;
    if (held->shaking.after != NULL)
        held->shaking.after->shaking.before = held->shaking.before;
    MHD_resume_connection(connection);
}

static bool watch(const struct nb_handshakes *h, struct nb_connection *held, bool writes)
{
    unsigned what = (writes ? NB_POLLER_WRITE : NB_POLLER_READ) | NB_POLLER_ONCE;
    held->shaking.is_watched = held->shaking.is_watched
                                   ? nb_poller_change(h->poller, held->file, what, held)
                                   : nb_poller_add(h->poller, held->file, what, held);
    return held->shaking.is_watched;
}

/* Suspends a connection whose handshake cannot continue, until its socket can be read, or written
 * if it `writes`. On the connection's thread. Without memory the connection is not suspended, and
 * the library polls. */
static void wait_for_socket(struct nb_handshakes *h, struct nb_connection *held, bool writes)
{
    pthread_mutex_lock(&h->lock);
    if (!h->is_ending) {
        MHD_suspend_connection(held->shaking.connection);
        held->shaking.before = NULL;
        held->shaking.after = h->waiting;
        if (h->waiting != NULL)
            h->waiting->shaking.before = held;
        h->waiting = held;
        if (!watch(h, held, writes))
            resume(h, held);
    }
    pthread_mutex_unlock(&h->lock);
}

/* Ends the watch of a connection that is about to end. On the connection's thread. */
static void forget(const struct nb_handshakes *h, struct nb_connection *held)
{
    /* A duplicate of the file may outlive the connection (http/net/connections.h), and then the
     * entry in the poller would, too. */
    if (held->shaking.is_watched)
        nb_poller_remove(h->poller, held->file);
    held->shaking.is_watched = false;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* No event refers to a connection that has ended. Only this thread resumes waiting connections; a
 * waiting connection cannot end; and a socket is watched for a single event. */
static void *handshakes_thread(void *user)
{
    struct nb_handshakes *h = user;
    struct nb_poller_event events[NB_POLLER_MOST];
    pthread_mutex_lock(&h->lock);
    while (!h->is_ending) {
        pthread_mutex_unlock(&h->lock);
        int count = nb_poller_wait(h->poller, events, -1);
        pthread_mutex_lock(&h->lock);
        for (int i = 0; i < count; i++) { /* after an error the loop tries again */
            if (events[i].user != NULL)
                resume(h, events[i].user);
        }
    }
    while (h->waiting != NULL)
        resume(h, h->waiting);
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void close_files(const struct nb_handshakes *h)
{
    if (h->poller >= 0)
        (void)close(h->poller);
    if (h->wake >= 0)
        (void)close(h->wake);
}

int nb_handshakes_start(struct nb_handshakes **handshakes, struct nb_error *error)
{
    struct nb_handshakes *h = calloc(1, sizeof *h);
    if (h == NULL)
        return nb_error_no_memory(error);
    h->poller = nb_poller_new();
    h->wake = nb_bell_new();
    if (h->poller < 0 || h->wake < 0 || !nb_poller_add(h->poller, h->wake, NB_POLLER_READ, NULL) ||
        pthread_mutex_init(&h->lock, NULL) != 0)
        goto failed;
    if (pthread_create(&h->thread, NULL, handshakes_thread, h) == 0) {
        *handshakes = h;
        return 0;
    }
    pthread_mutex_destroy(&h->lock);
failed:
    close_files(h);
    free(h);
    return nb_error_set(error, NB_IO, "the thread that waits for TLS handshakes does not start");
}

void nb_handshakes_end(struct nb_handshakes *handshakes)
{
    struct nb_handshakes *h = handshakes;
    if (h == NULL)
        return;
    pthread_mutex_lock(&h->lock);
    h->is_ending = true;
    pthread_mutex_unlock(&h->lock);
    nb_bell_ring(h->wake);
    pthread_join(h->thread, NULL);
}

void nb_handshakes_free(struct nb_handshakes **handshakes)
{
    struct nb_handshakes *h = *handshakes;
    if (h == NULL)
        return;
    assert(h->is_ending && h->waiting == NULL);
    pthread_mutex_destroy(&h->lock);
    close_files(h);
    free(h);
    *handshakes = NULL;
}

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
    wait_for_socket(held->http->handshakes, held, writes);
}

void nb_http_tls_begin(struct nb_connection *held, struct MHD_Connection *connection)
{
    assert(held->is_tls && held->configuration == NULL);
    held->configuration = nb_configurations_take(held->http->server);
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
        forget(held->http->handshakes, held);
    free(held->certificate);
    held->certificate = NULL;
    nb_configuration_release(&held->configuration);
}

const char *nb_http_certificate(struct nb_connection *held, struct MHD_Connection *connection)
{
    assert(held->is_tls && held->configuration != NULL && held->configuration->tls != NULL);
    char name[NB_TLS_NAME];
    if (!held->is_known) {
        held->is_known = true;
        if (nb_tls_client(held->configuration->tls, nb_http_session(connection), name))
            held->certificate = strdup(name); /* without memory the certificate gives no role */
    }
    return held->certificate;
}
