/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what: the one place that decides the role of a request, from the token it shows and
 * from whom it comes (peer.h). Made from the configuration by the main thread; any thread may ask.
 *
 * Without any tokens nobody is asked for one: who reaches the daemon may do everything. Unless the
 * option `insecure` says that the network keeps strangers out, the daemon then listens on loopback,
 * and it is the address that proves the role; so a request that came through a proxy has none.
 */
#ifndef NB_SERVER_ACCESS_ACCESS_H
#define NB_SERVER_ACCESS_ACCESS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/access/peer.h"
#include "server/access/role.h"

struct nb_access;
struct nb_config;
struct nb_rate;
struct nb_token;

/* Reads [tokens] with the file of tokens, client_ca of [tls], and of [server] `proxies`,
 * `socket_users`, `insecure` and the rates. Returns 0, NB_NO_MEMORY, NB_INVALID, which names the
 * option or the line and what is wrong with it, never a token, or NB_IO for a file of tokens that
 * cannot be read. */
int nb_access_new(const struct nb_config *config, struct nb_access **access,
                  struct nb_error *error);
void nb_access_free(struct nb_access **access);

/* Whether clients are asked for tokens: there are some, or there is a file of tokens, which may be
 * empty. */
bool nb_access_asks(const struct nb_access *access);
bool nb_access_has_file(const struct nb_access *access);

/* Whether the configuration has tokens themselves and not only their hashes. */
bool nb_access_has_plain(const struct nb_access *access);

/* The proxies whose X-Forwarded-For is believed. */
const struct nb_networks *nb_access_proxies(const struct nb_access *access);

/* How much a client may ask for (limits.h). */
const struct nb_rate *nb_access_rate_classify(const struct nb_access *access);
const struct nb_rate *nb_access_rate_train(const struct nb_access *access);
const struct nb_rate *nb_access_rate_failures(const struct nb_access *access);

/* What a request may do, and why. */
struct nb_grant {
    enum nb_role role;
    bool is_by_address; /* the role comes from where the request comes from, not from a token;
                           a page in a browser may have made such a request */
    const char *name;   /* of the token; "" when it has none, and without a token. Like
                           `models` it lives as long as the nb_access */
    const char *models; /* patterns of the models it may use (models.h) */
    const struct nb_token *token; /* that was shown and is known; NULL: none */
};

/* Decides. `token` is what was shown, of length 0 for nothing. `is_for_mail`: the request uses a
 * protocol of mail filters, most of whose clients cannot show a token; from a trusted address, or
 * from an allowed user over the Unix socket, it may check and learn mail without one. */
struct nb_grant nb_access_grant(const struct nb_access *access, const struct nb_peer *peer,
                                struct nb_string token, bool is_for_mail);

/* The token of an Authorization field (RFC 6750, section 2.1: "Bearer" and the token); of length 0
 * when it holds none. */
struct nb_string nb_access_bearer(struct nb_string authorization);

#endif
