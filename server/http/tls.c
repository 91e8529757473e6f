/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/tls.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/config.h"

struct nb_tls {
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priorities;
    bool asks; /* whether clients are asked for certificates */
};

/* ---- the files ------------------------------------------------------------------------------- */

static int fail(struct nb_error *error, const char *option, const char *path, int code)
{
    if (code == GNUTLS_E_MEMORY_ERROR)
        return nb_error_no_memory(error);
    return nb_error_set(error, NB_INVALID, "[tls] %s: %s: %s", option, path, gnutls_strerror(code));
}

static int check_file(const char *option, const char *path, struct nb_error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return nb_error_set(error, NB_INVALID, "[tls] %s: cannot read %s: %s", option, path,
                            strerror(errno));
    (void)fclose(file); /* the file was only opened */
    return 0;
}

/* Reads the certificates once before they are used: GnuTLS 3.7.9 leaks memory when it loads a file
 * with a damaged certificate. */
static int check_certificates(const char *path, struct nb_error *error)
{
    gnutls_datum_t text = {NULL, 0};
    gnutls_x509_crt_t *all = NULL;
    unsigned count = 0;
    int code = gnutls_load_file(path, &text);
    if (code == 0)
        code = gnutls_x509_crt_list_import2(&all, &count, &text, GNUTLS_X509_FMT_PEM, 0);
    gnutls_free(text.data);
    for (unsigned i = 0; code >= 0 && i < count; i++)
        gnutls_x509_crt_deinit(all[i]);
    if (code >= 0)
        gnutls_free(all);
    return code < 0 ? fail(error, "certificate", path, code) : 0;
}

static int read_certificate(struct nb_tls *tls, const struct nb_config *config,
                            struct nb_error *error)
{
    int rc = check_file("certificate", config->tls_certificate, error);
    if (rc == 0)
        rc = check_file("key", config->tls_key, error);
    if (rc == 0)
        rc = check_certificates(config->tls_certificate, error);
    if (rc != 0)
        return rc;
    int code = gnutls_certificate_set_x509_key_file(tls->credentials, config->tls_certificate,
                                                    config->tls_key, GNUTLS_X509_FMT_PEM);
    return code < 0 ? fail(error, "certificate and key", config->tls_certificate, code) : 0;
}

static int read_client_ca(struct nb_tls *tls, const struct nb_config *config,
                          struct nb_error *error)
{
    tls->asks = config->tls_client_ca[0] != '\0';
    int rc = tls->asks ? check_file("client_ca", config->tls_client_ca, error) : 0;
    if (rc != 0 || !tls->asks)
        return rc;
    int count = gnutls_certificate_set_x509_trust_file(tls->credentials, config->tls_client_ca,
                                                       GNUTLS_X509_FMT_PEM);
    if (count < 0)
        return fail(error, "client_ca", config->tls_client_ca, count);
    if (count > 0)
        return 0;
    return nb_error_set(error, NB_INVALID, "[tls] client_ca: there is no certificate in %s",
                        config->tls_client_ca);
}

static int read_priorities(struct nb_tls *tls, const char *text, struct nb_error *error)
{
    const char *wrong = text;
    int code = gnutls_priority_init(&tls->priorities, text, &wrong);
    if (code == 0)
        return 0;
    if (code == GNUTLS_E_MEMORY_ERROR)
        return nb_error_no_memory(error);
    return nb_error_set(error, NB_INVALID,
                        "[tls] priorities: GnuTLS does not know '%.40s'; gnutls-cli --list names "
                        "what it knows",
                        wrong);
}

/* Checks options that need each other. */
static int check_together(const struct nb_config *config, struct nb_error *error)
{
    bool has_certificate = config->tls_certificate[0] != '\0', has_key = config->tls_key[0] != '\0';
    bool is_used = config->tls_listen[0] != '\0' || config->tls_only;
    if (has_certificate != has_key || (is_used && !has_certificate))
        return nb_error_set(error, NB_INVALID, "[tls] needs both a certificate and a key");
    if (config->tls_listen[0] != '\0' && config->tls_only)
        return nb_error_set(error, NB_INVALID,
                            "[tls] only: the address is that of [server] listen; take away [tls] "
                            "listen, or 'only'");
    if (config->tls_client_ca[0] != '\0' && !is_used)
        return nb_error_set(error, NB_INVALID,
                            "[tls] client_ca has no effect without [tls] listen or only");
    return 0;
}

int nb_tls_new(const struct nb_config *config, struct nb_tls **tls, struct nb_error *error)
{
    *tls = NULL;
    int rc = check_together(config, error);
    if (rc != 0 || config->tls_certificate[0] == '\0')
        return rc;
    struct nb_tls *made = calloc(1, sizeof *made);
    if (made == NULL || gnutls_certificate_allocate_credentials(&made->credentials) != 0) {
        free(made);
        return nb_error_no_memory(error);
    }
    rc = read_certificate(made, config, error);
    if (rc == 0)
        rc = read_client_ca(made, config, error);
    if (rc == 0)
        rc = read_priorities(made, config->tls_priorities, error);
    if (rc != 0)
        nb_tls_free(&made);
    *tls = made;
    return rc;
}

void nb_tls_free(struct nb_tls **tls)
{
    if (*tls == NULL)
        return;
    gnutls_certificate_free_credentials((*tls)->credentials);
    if ((*tls)->priorities != NULL)
        gnutls_priority_deinit((*tls)->priorities);
    free(*tls);
    *tls = NULL;
}

/* ---- the socket of a session ----------------------------------------------------------------- */

/* Passes the result of a socket call to GnuTLS, which reads errno. */
static ssize_t tell(struct nb_tls_socket *socket, ssize_t result, bool writes)
{
    int code = errno;
    assert(result >= -1);
    if (result < 0 && code == EAGAIN && !socket->is_shaken)
        socket->wait(socket->user, writes);
    errno = code;
    return result;
}

static ssize_t pull(gnutls_transport_ptr_t user, void *bytes, size_t room)
{
    struct nb_tls_socket *socket = user;
    return tell(socket, recv(socket->file, bytes, room, MSG_DONTWAIT), false);
}

static ssize_t push(gnutls_transport_ptr_t user, const giovec_t *parts, int count)
{
    struct nb_tls_socket *socket = user;
    /* sendmsg does not change the parts, although its prototype has no const. */
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                             .msg_iovlen = (size_t)count};
    return tell(socket, sendmsg(socket->file, &message, MSG_DONTWAIT | MSG_NOSIGNAL), true);
}

/* Whether data can be read within this many milliseconds. GnuTLS requires such a function together
 * with a read function. */
static int pull_timeout(gnutls_transport_ptr_t user, unsigned milliseconds)
{
    const struct nb_tls_socket *socket = user;
    struct pollfd polled = {.fd = socket->file, .events = POLLIN};
    return poll(&polled, 1, milliseconds < INT_MAX ? (int)milliseconds : -1);
}

/* The client's Finished is the last handshake message that the server waits for, in every version
 * and also when a session is resumed (RFC 8446, 2; RFC 5246, 7.3). */
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned is_incoming,
                       const gnutls_datum_t *message)
{
    (void)type, (void)when, (void)message;
    struct nb_tls_socket *socket = gnutls_transport_get_ptr(session);
    if (is_incoming)
        socket->is_shaken = true;
    return 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

bool nb_tls_begin(const struct nb_tls *tls, void *session, struct nb_tls_socket *socket)
{
    assert(socket->file >= 0 && socket->wait != NULL);
    assert(tls->priorities != NULL); /* nb_tls_new has read them */
    gnutls_transport_set_ptr(session, socket);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, pull_timeout);
    gnutls_transport_set_vec_push_function(session, push);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
                                       on_finished);
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials) != 0 ||
        gnutls_priority_set(session, tls->priorities) != 0)
        return false;
    if (tls->asks)
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    return true;
}

/* Reads the name in a certificate in DER. */
static bool read_name(const gnutls_datum_t *der, char name[NB_TLS_NAME])
{
    gnutls_x509_crt_t certificate;
    if (gnutls_x509_crt_init(&certificate) != 0)
        return false;
    size_t size = NB_TLS_NAME;
    int code = gnutls_x509_crt_import(certificate, der, GNUTLS_X509_FMT_DER);
    if (code == 0) {
        code = gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name,
                                             &size);
        if (code != 0) {
            size = NB_TLS_NAME;
            code = gnutls_x509_crt_get_dn(certificate, name, &size);
        }
    }
    gnutls_x509_crt_deinit(certificate);
    return code == 0;
}

bool nb_tls_client(const struct nb_tls *tls, void *session, char name[NB_TLS_NAME])
{
    unsigned count = 0, status = 0;
    const gnutls_datum_t *chain = tls->asks ? gnutls_certificate_get_peers(session, &count) : NULL;
    if (chain == NULL || count == 0)
        return false;
    unsigned char oid[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = oid};
    return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0 &&
           read_name(&chain[0], name);
}

void nb_tls_send(void *session, const void *bytes, size_t length)
{
    (void)gnutls_record_send(session, bytes, length); /* if this fails, the client has gone */
}

void nb_tls_end(void *session)
{
    (void)gnutls_bye(session, GNUTLS_SHUT_WR);
}
