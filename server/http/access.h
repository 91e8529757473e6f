/* SPDX-License-Identifier: Apache-2.0
 *
 * Who sent a request and what the client may do: the one place that decides its role, from its
 * token and from its address. Made from the configuration by the main thread; any thread may ask.
 *
 * Without configured tokens no client needs one: whoever reaches the daemon may do everything. The
 * daemon then listens on loopback only, unless the option `insecure` says that the network keeps
 * strangers out. The role then follows from the address, so a request that came through a proxy has
 * none.
 */
#ifndef NB_SERVER_HTTP_ACCESS_H
#define NB_SERVER_HTTP_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/http/address.h"
#include "server/http/tokens.h"

struct nb_config;

/* Rates, as options give them: "10/second", "600/minute", or "0" for no limit. Pure functions; any
 * thread. */
struct nb_rate {
    double per_second; /* 0: no limit */
    double burst;      /* how many may come at once: as many as in the option's unit of time */
};

/* Reads a rate. `option` names it in messages. Returns 0 or NB_INVALID. */
int nb_rate_read(const char *text, const char *option, struct nb_rate *rate,
                 struct nb_error *error);

/* The settings from the options; read-only. */
struct nb_access {
    struct nb_tokens tokens;
    struct nb_networks trusted;
    struct nb_networks proxies; /* senders whose X-Forwarded-For is believed */
    struct nb_users socket_users;
    struct nb_rate rate_classify, rate_train, rate_failures; /* limits.h */
    bool has_file; /* there is a token file; it may be empty */
    bool is_insecure;
    enum nb_role certificate_role; /* NB_ROLE_NONE: certificates are not asked for */
};

/* Reads [tokens] with the token file, client_ca of [tls], and `proxies`, `socket_users`, `insecure`
 * and the rates of [server]. Returns 0, NB_NO_MEMORY, NB_INVALID, which names the option or the
 * line and the fault but never a token, or NB_IO for a token file that cannot be read. */
int nb_access_new(const struct nb_config *config, struct nb_access **access,
                  struct nb_error *error);
void nb_access_free(struct nb_access **access);

/* Whether clients need tokens: some are configured, or there is a token file, which may be
 * empty. */
bool nb_access_asks(const struct nb_access *access);

/* ---- whom a request comes from --------------------------------------------------------------- */

/* The address of a connection is that of the last machine on the way. If that is a proxy, the
 * address does not identify the client; the proxy may name the client in X-Forwarded-For, where
 * each proxy appends the address that sent it the request. The entries to the left of an address
 * were sent by that address, so they count only if it is a trusted proxy: the entries are read from
 * the right. */

/* The header fields of proxies. */
enum { NB_FORWARDED_MOST = 8 }; /* header fields; proxies that add a new one are few */
struct nb_forwarding {
    bool is_there; /* it has Forwarded, X-Forwarded-For or Via (RFC 7239; RFC 9110, 7.6.3) */
    struct nb_string chain[NB_FORWARDED_MOST]; /* the last X-Forwarded-For fields, in their order */
    size_t count;
};

/* Everything that a carrier knows about the sender of a request. */
struct nb_sender {
    struct nb_address address; /* the connection's other end */
    int socket;                /* the connection's; -1: it is not known */
    const char *certificate;   /* the common name in a certificate that was verified; or NULL */
    struct nb_forwarding forwarding;
    struct nb_string authorization; /* the header field; bytes == NULL: there is none */
    const char *origin, *host;      /* header fields of a browser's requests; NULL: none */
    const char *fetch_site;         /* the header field Sec-Fetch-Site; NULL: none */
    bool has_origins;               /* there are several fields Origin */
    bool is_tls;                    /* the connection uses TLS */
    bool is_page;                   /* [http] origins names `origin` (address.h) */
};

struct nb_peer {
    struct nb_address address; /* of the client, as far as it is known: for logs and limits */
    bool is_forwarded;         /* a proxy is on the way */
    bool is_proven;            /* the address is the client's own: it may prove a role */
    bool has_user;             /* it came over a Unix socket, from a process of `user` */
    uid_t user;
    const char *certificate; /* the common name in the sender's certificate; it lives as long as the
                                request */
    bool is_page;            /* a page of another site: only a token gives it a role */
};

/* Adds the next X-Forwarded-For field; if there are too many, the first ones are dropped. */
void nb_forwarding_add(struct nb_forwarding *forwarding, struct nb_string field);

/* Identifies the client from what is known about the sender. */
struct nb_peer nb_peer_of(const struct nb_sender *sender, const struct nb_networks *proxies);

/* ---- what it may do -------------------------------------------------------------------------- */

/* What a request may do, and why. */
struct nb_grant {
    enum nb_role role;
    bool is_by_address; /* the role follows from the address of the sender, not from a token; a page
                           in a browser may have made such a request */
    const char *name;   /* the name of the token; "" when it has none, or without a token. Like
                           `models` it lives as long as the nb_access */
    const char *models; /* patterns of the models it may use (tokens.h) */
    const struct nb_token *token; /* the known token in the request; NULL: none */
};

/* Decides the grant. `token` is the token in the request, of length 0 if there is none.
 * `is_for_mail`: the request uses a protocol of mail filters, most of whose clients cannot send a
 * token; from a trusted address, or from an allowed user over the Unix socket, such a client may
 * check and learn mail without one. */
struct nb_grant nb_access_grant(const struct nb_access *access, const struct nb_peer *peer,
                                struct nb_string token, bool is_for_mail);

/* Returns the token of an Authorization field (RFC 6750, section 2.1: "Bearer" and the token); of
 * length 0 when there is none. */
struct nb_string nb_access_bearer(struct nb_string authorization);

#endif
