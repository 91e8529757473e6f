/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/admission.h"

#include <arpa/inet.h>
#include <assert.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "core/base/names.h"
#include "core/base/number.h"
#include "core/engine/engine.h"
#include "server/base/metrics.h"
#include "server/http/address.h"
#include "server/http/limits.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/tokens.h"
#include "server/http/wait.h"

/* ---- pages in a browser ---------------------------------------------------------------------- */

bool nb_origin_is_foreign(const char *origin, const char *scheme, const char *host)
{
    if (origin == NULL)
        return false;
    const char *mark = strstr(origin, "://");
    if (mark == NULL || host == NULL || strcasecmp(mark + 3, host) != 0)
        return true;
    struct nb_string own = {origin, (size_t)(mark - origin)};
    return scheme != NULL
               ? !nb_string_equals_nocase(own, scheme)
               : !nb_string_equals_nocase(own, "http") && !nb_string_equals_nocase(own, "https");
}

bool nb_site_is_foreign(const char *fetch_site)
{
    if (fetch_site == NULL)
        return false;
    struct nb_string site = nb_string_trim(nb_string_of(fetch_site));
    return !nb_string_equals_nocase(site, "same-origin") &&
           !nb_string_equals_nocase(site, "none"); /* none: made by the user, not a page */
}

static bool is_localhost(const char *name)
{
    static const char LOCAL[] = ".localhost"; /* RFC 6761, 6.3 */
    size_t length = strlen(name), most = sizeof LOCAL - 1;
    return strcasecmp(name, LOCAL + 1) == 0 ||
           (length > most && strcasecmp(name + length - most, LOCAL) == 0);
}

bool nb_origin_is_named(const char *host, const char *names)
{
    enum { NAME_BYTES = 256 }; /* RFC 1035, 2.3.4: a name has at most 255 bytes */
    char name[NAME_BYTES];
    unsigned char address[sizeof(struct in6_addr)];
    if (host == NULL || nb_list_has(names, "")) /* the empty name matches only "*" */
        return true;
    /* RFC 3986, 3.2.2: IP-literal = "[" address "]", else IPv4address or reg-name; then nothing, or
     * ":" and the digits of a port, possibly none (3.2.3). */
    bool is_literal = host[0] == '[';
    const char *from = is_literal ? host + 1 : host;
    size_t length = strcspn(from, is_literal ? "]" : ":");
    const char *rest = from + length;
    if (length >= sizeof name || (is_literal && *rest++ != ']') ||
        (*rest != '\0' && (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")] != '\0')))
        return false;
    memcpy(name, from, length);
    name[length] = '\0';
    return inet_pton(is_literal ? AF_INET6 : AF_INET, name, address) == 1 ||
           (!is_literal && (is_localhost(name) || nb_list_has(names, name)));
}

/* Whether the request needs a role and has it by its address alone, without a token. Then a page in
 * a browser at that address could have sent it, under its own name that resolves to the daemon (DNS
 * rebinding). No browser uses a Unix socket. */
static bool is_like_a_page(const struct nb_request *request)
{
    return request->route->role != NB_ROLE_NONE && request->grant.is_by_address &&
           request->peer.address.kind != NB_ADDRESS_FILE;
}

/* Checks the Origin of a page in a browser. A proxy in front may speak TLS with the browser. Sets
 * *is_page if it is a foreign origin that the configuration lists. */
static int check_origin(const struct nb_sender *sender, bool *is_page, struct nb_error *error)
{
    const char *scheme = sender->forwarding.is_there ? NULL : sender->is_tls ? "https" : "http";
    if (sender->has_origins)
        return nb_error_set(error, NB_FORBIDDEN,
                            "the request has several fields Origin; a browser sends one");
    *is_page = nb_origin_is_foreign(sender->origin, scheme, sender->host);
    if (!*is_page || sender->is_page)
        return 0;
    if (!nb_origin_is_foreign(sender->origin, NULL, sender->host))
        return nb_error_set(error, NB_FORBIDDEN,
                            "the request comes from a page of another site: its Origin is not "
                            "%s, as the Host is here; a proxy that speaks TLS with browsers must "
                            "add X-Forwarded-For",
                            scheme);
    return nb_error_set(error, NB_FORBIDDEN,
                        "the request comes from a page of another site: its Origin is not the "
                        "Host, and the option [http] origins does not name it");
}

static int check_host(const struct nb_request *request, const struct nb_sender *sender,
                      struct nb_error *error)
{
    if (!is_like_a_page(request))
        return 0;
    if (nb_site_is_foreign(sender->fetch_site))
        return nb_error_set(error, NB_FORBIDDEN,
                            "the request comes from a page of another site, as its Sec-Fetch-Site "
                            "says; a request with a token may come from there");
    if (nb_origin_is_named(sender->host, request->config->hosts))
        return 0;
    return nb_error_set(error, NB_FORBIDDEN,
                        "the Host is no address, not localhost, and no name that the option "
                        "[server] hosts allows; a request with a token may have any");
}

/* ---- rates ----------------------------------------------------------------------------------- */

/* Refuses with Retry-After: the client may try again after `nanoseconds`. */
static int refuse_for_now(struct nb_request *request, uint64_t nanoseconds, enum nb_refused reason,
                          const char *what, struct nb_error *error)
{
    assert(nanoseconds > 0); /* else the request would have been let in */
    uint64_t seconds = nanoseconds / 1000000000u + 1;
    request->reply.retry_after = seconds < UINT_MAX ? (unsigned)seconds : UINT_MAX;
    nb_metrics_refused(request->server->metrics, reason);
    return nb_error_set(error, NB_BUSY, "%s; come again in %u seconds", what,
                        request->reply.retry_after);
}

static int check_failures(struct nb_request *request, struct nb_error *error)
{
    uint64_t wait = nb_limits_judge(request->server->limits, &request->access->rate_failures,
                                    &request->peer, &request->grant);
    if (wait == 0)
        return 0;
    return refuse_for_now(request, wait, NB_REFUSED_FAILURES,
                          "too many unknown tokens came from this address", error);
}

static int take_place(struct nb_request *request, bool is_first, struct nb_error *error)
{
    bool is_train = request->route->role == NB_ROLE_TRAIN;
    const struct nb_rate *rate =
        is_train ? &request->access->rate_train : &request->access->rate_classify;
    if (rate->per_second <= 0)
        return 0;
    uint64_t wait =
        nb_limits_take(request->server->limits, is_train ? NB_LIMIT_TRAIN : NB_LIMIT_CLASSIFY, rate,
                       &request->peer, &request->grant, is_first);
    if (wait == 0)
        return 0;
    return refuse_for_now(request, wait, is_train ? NB_REFUSED_TRAIN : NB_REFUSED_CLASSIFY,
                          is_train ? "more documents to learn than [server] rate_train allows"
                                   : "more documents to classify than [server] rate_classify "
                                     "allows",
                          error);
}

int nb_request_count_document(struct nb_request *request, struct nb_error *error)
{
    return take_place(request, false, error);
}

/* Most bytes of the URLs of nodes that a client gets. It has no use for hundreds of URLs. */
enum { URLS_MOST = 8192 };

/* ---- role and models ------------------------------------------------------------------------- */

/* Refuses a request without a token that allows it. */
static int refuse_unknown(const struct nb_request *request, bool has_token, struct nb_error *error)
{
    const char *why = request->peer.is_forwarded && !request->peer.is_proven
                          ? "it came through a proxy, so that its address proves nothing; "
                          : "";
    if (request->route->protocol->is_for_mail)
        return nb_error_set(error, NB_UNKNOWN,
                            "Unauthorized: %sshow a token as Password or Authorization: Bearer, or "
                            "have the client's %s",
                            why,
                            request->peer.has_user ? "user added to [server] socket_users"
                                                   : "address added to [tokens] trusted");
    if (!has_token)
        return nb_error_about(error,
                              nb_error_set(error, NB_UNKNOWN,
                                           "the request needs a token, and brings none: "
                                           "Authorization: Bearer TOKEN"),
                              "token_missing", NULL);
    return nb_error_about(error,
                          nb_error_set(error, NB_UNKNOWN,
                                       "the request needs a token that is known, and its token is "
                                       "not: Authorization: Bearer TOKEN"),
                          "token_unknown", NULL);
}

bool nb_request_is_for(const struct nb_request *request, struct nb_string model)
{
    assert(request->grant.models != NULL); /* nb_request_check_access has set it */
    return nb_models_match(request->grant.models, model);
}

int nb_request_check_name(const struct nb_request *request, struct nb_string name,
                          struct nb_error *error)
{
    assert(request->grant.models != NULL); /* as above */
    return nb_models_check(request->grant.models, name, error);
}

int nb_request_check_follows(struct nb_request *request, struct nb_string model,
                             struct nb_error *error)
{
    const struct nb_server *server = request->server;
    if (server->nodes == NULL || nb_check_model_name(model, NULL) != 0)
        return 0;
    if (server->follows(server->nodes, model))
        return server->has_caught_up(server->nodes)
                   ? 0
                   : nb_error_set(error, NB_STOPPING,
                                  "this node has not got all that the other nodes have yet (GET "
                                  "/readyz says why): ask again later, or another node");
    request->urls.length = 0;
    if (server->list_followers(server->nodes, model, URLS_MOST, &request->urls) != 0)
        return nb_error_no_memory(error);
    return nb_error_set(error, NB_ELSEWHERE, "this node does not follow the model '%.*s': ask %s",
                        (int)model.length, model.bytes,
                        request->urls.length > 0 ? request->urls.bytes
                                                 : "another one (GET /v1/nodes names them)");
}

int nb_request_check_model(struct nb_request *request, struct nb_string model,
                           struct nb_error *error)
{
    int rc = nb_request_check_name(request, model, error);
    return rc != 0 ? rc : nb_request_check_follows(request, model, error);
}

/* Whether the path names a model or a network; each of these belongs to a stream. */
static bool names_model(const struct nb_request *request)
{
    static const char *const below[] = {"/v1/models/", "/v1/networks/"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if (strncmp(request->route->pattern, below[i], strlen(below[i])) == 0)
            return true;
    return false;
}

/* Refuses changes of a challenger, which learns what its model learns: so they stay comparable. */
static int check_challenger(const struct nb_request *request, struct nb_error *error)
{
    enum nb_role role = request->route->role;
    if (strcmp(request->route->method, "GET") == 0 ||
        (role != NB_ROLE_TRAIN && role != NB_ROLE_ADMIN) || !nb_may_be_challenger(request->model) ||
        !nb_engine_is_challenger(request->server->engine, request->model))
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "'%.*s' is the challenger of another model: change that one, or promote or "
                        "drop the challenger there",
                        (int)request->model.length, request->model.bytes);
}

/* Whether the token covers the model of the path. A path without a model needs a token for all
 * models if its reply concerns all of them, or if it changes the whole store. */
static int check_token(const struct nb_request *request, struct nb_error *error)
{
    const struct nb_route *route = request->route;
    if (strcmp(request->grant.models, "*") == 0) /* most tokens; grants without a token */
        return 0;
    if (request->model.length > 0)
        return nb_request_check_name(request, request->model, error);
    bool is_of_all = route->is_of_all || route->role == NB_ROLE_ADMIN;
    if (!is_of_all || nb_models_are_all(request->grant.models))
        return 0;
    return nb_error_set(error, NB_FORBIDDEN,
                        "this token is for the models %s only; the request needs one for all",
                        request->grant.models);
}

/* Checks the role and the models of the grant. */
static int check_grant(struct nb_request *request, bool has_token, struct nb_error *error)
{
    enum nb_role needed = request->route->role;
    if (request->grant.role >= needed) {
        int rc = check_token(request, error);
        bool has_model = request->model.length > 0 && names_model(request);
        if (rc == 0 && has_model)
            rc = nb_request_check_follows(request, request->model, error);
        return rc == 0 && has_model ? check_challenger(request, error) : rc;
    }
    if (request->grant.role != NB_ROLE_NONE)
        return nb_error_about(
            error,
            nb_error_set(error, NB_FORBIDDEN,
                         "this token's role, %s, does not reach: the request needs %s",
                         nb_role_name(request->grant.role),
                         needed == NB_ROLE_ADMIN ? "admin" : "train or admin"),
            "role_insufficient", NULL);
    if (nb_access_asks(request->access))
        return refuse_unknown(request, has_token, error);
    return nb_error_set(error, NB_FORBIDDEN,
                        "the request came through a proxy, and there are no [tokens]: set some, or "
                        "write 'insecure = yes' to [server] when the proxy keeps strangers out");
}

static int check_role(struct nb_request *request, struct nb_string token, struct nb_error *error)
{
    int rc = 0;
    if (request->route->role == NB_ROLE_NONE)
        return 0;
    if (token.length > 0 && !request->grant.is_by_address)
        rc = check_failures(request, error);
    if (rc == 0)
        rc = check_grant(request, token.length > 0, error);
    if (rc == NB_UNKNOWN)
        nb_metrics_refused(request->server->metrics, NB_REFUSED_TOKEN);
    enum nb_body_kind body = request->route->body;
    if (rc == 0 && (body == NB_BODY_DOCUMENTS || body == NB_BODY_DOCUMENT))
        rc = take_place(request, true, error);
    return rc;
}

int nb_request_check_access(struct nb_request *request, const struct nb_sender *sender,
                            struct nb_error *error)
{
    assert(request->route != NULL); /* its role is what is checked */
    const struct nb_access *access = request->access;
    bool is_page = false;
    int rc = check_origin(sender, &is_page, error);
    if (rc != 0)
        return rc;
    bool is_for_mail = request->route->protocol->is_for_mail;
    struct nb_string token = nb_access_bearer(sender->authorization);
    if (token.length == 0 && is_for_mail)
        token = nb_request_field(request, "Password");
    request->peer.is_page = is_page;
    request->grant = nb_access_grant(access, &request->peer, token, is_for_mail);
    rc = check_role(request, token, error);
    return rc != 0 ? rc : check_host(request, sender, error);
}

/* Returns the name of the token in the request, else the protocol. */
static struct nb_string origin_of(const struct nb_request *request)
{
    assert(request->grant.name != NULL && request->route->protocol->door != NULL);
    const char *name = request->grant.name;
    return nb_string_of(name[0] != '\0' ? name : request->route->protocol->door);
}

int nb_request_source(const struct nb_request *request, struct nb_string *source,
                      struct nb_error *error)
{
    struct nb_string given = {NULL, 0};
    if (request->query_count > 0 && !request->route->protocol->is_for_mail)
        given = nb_request_query(request, "source");
    if (given.length > 0) {
        *source = given;
        return nb_check_source(given, error);
    }
    *source = origin_of(request);
    return 0;
}

/* Whether a list separated by commas has the name. */
static bool has_name(const char *list, struct nb_string name)
{
    while (*list != '\0') {
        struct nb_string item = {list, strcspn(list, ",")};
        list += item.length + (list[item.length] == ',');
        item = nb_string_trim(item);
        if (item.length > 0 && nb_string_same(item, name))
            return true;
    }
    return false;
}

bool nb_request_is_quarantined(const struct nb_request *request, struct nb_string *source)
{
    const char *list = request->config->quarantine;
    struct nb_string origin = origin_of(request);
    if (list[0] == '\0')
        return false;
    if (has_name(list, origin)) {
        *source = origin;
        return true;
    }
    return has_name(list, *source);
}

size_t nb_percent_decode(char *text, size_t length)
{
    size_t to = 0;
    for (size_t from = 0; from < length; from++, to++) {
        text[to] = text[from];
        if (text[from] != '%')
            continue;
        int high = length - from > 2 ? nb_hex_digit(text[from + 1]) : -1;
        int low = length - from > 2 ? nb_hex_digit(text[from + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0)
            return SIZE_MAX;
        text[to] = (char)(high * 16 + low);
        from += 2;
    }
    assert(to <= length);
    return to;
}

struct nb_string nb_request_query(const struct nb_request *request, const char *name)
{
    for (size_t i = 0; i < request->query_count; i++) {
        if (nb_string_equals(request->query[i].name, name))
            return request->query[i].value;
    }
    return (struct nb_string){NULL, 0};
}

int nb_request_query_count(const struct nb_request *request, const char *name, uint64_t otherwise,
                           uint64_t most, uint64_t *value, struct nb_error *error)
{
    struct nb_string text = nb_request_query(request, name);
    if (text.bytes == NULL) {
        *value = otherwise;
        return 0;
    }
    uint64_t number;
    if (!nb_number_read_whole(text, &number) || number > most)
        return nb_error_about(
            error,
            nb_error_set(error, NB_INVALID,
                         "query parameter '%s' must be a whole number from 0 to %llu", name,
                         (unsigned long long)most),
            NULL, name);
    *value = number;
    return 0;
}

int nb_request_query_rows(const struct nb_request *request, uint64_t usual, size_t *rows,
                          struct nb_error *error)
{
    uint64_t limit, most = request->config->listing_rows;
    int rc =
        nb_request_query_count(request, "limit", most < usual ? most : usual, most, &limit, error);
    if (rc == 0 && limit == 0)
        rc = nb_error_about(
            error, nb_error_set(error, NB_INVALID, "query parameter 'limit' must be at least 1"),
            NULL, "limit");
    *rows = rc == 0 ? (size_t)limit : 0;
    return rc;
}

int nb_request_query_number(const struct nb_request *request, const char *name, double most,
                            double *value, struct nb_error *error)
{
    struct nb_string text = nb_request_query(request, name);
    if (text.bytes == NULL)
        return 0;
    double number;
    if (!nb_number_read(text, &number) || !(number <= most))
        return nb_error_about(error,
                              nb_error_set(error, NB_INVALID,
                                           "query parameter '%s' must be a number from 0 to %g",
                                           name, most),
                              NULL, name);
    *value = number;
    return 0;
}

static int unknown_parameter(const struct nb_request *request, struct nb_string name,
                             struct nb_error *error)
{
    char known[224] = "", param[65];
    size_t length = 0;
    (void)snprintf(param, sizeof param, "%.*s", name.length < 64 ? (int)name.length : 64,
                   name.bytes);
    for (const char *const *q = request->route->query; *q != NULL; q++) {
        size_t more = strlen(*q);
        if (nb_near_is(name, nb_string_of(*q)))
            return nb_error_about(error,
                                  nb_error_set(error, NB_INVALID,
                                               "unknown query parameter '%s': did you mean '%s'?",
                                               param, *q),
                                  NULL, param);
        if (length + more + 3 > sizeof known)
            break;
        if (length > 0) {
            memcpy(known + length, ", ", 2);
            length += 2;
        }
        memcpy(known + length, *q, more + 1);
        length += more;
    }
    assert(length < sizeof known);
    if (length == 0)
        (void)snprintf(known, sizeof known, "none");
    return nb_error_about(error,
                          nb_error_set(error, NB_INVALID,
                                       "unknown query parameter '%s'; this path takes %s", param,
                                       known),
                          NULL, param);
}

static int given_twice(const char *name, struct nb_error *error)
{
    return nb_error_about(
        error, nb_error_set(error, NB_INVALID, "query parameter '%s' is given twice", name), NULL,
        name);
}

int nb_request_add_query(struct nb_request *request, char *name, size_t name_length, char *value,
                         size_t value_length, struct nb_error *error)
{
    assert(request->route != NULL && request->route->query != NULL);
    size_t decoded_name = nb_percent_decode(name, name_length);
    size_t decoded_value = nb_percent_decode(value, value_length);
    if (decoded_name == SIZE_MAX || decoded_value == SIZE_MAX)
        return nb_error_set(error, NB_INVALID, "the query holds a broken percent-escape or a NUL");
    struct nb_string its_name = {name, decoded_name};
    bool is_for_mail = request->route->protocol->is_for_mail;
    const char *const *known = request->route->query;
    while (*known != NULL && !(is_for_mail ? nb_string_equals_nocase(its_name, *known)
                                           : nb_string_equals(its_name, *known)))
        known++;
    if (*known == NULL && nb_takes_after(request->route) &&
        nb_string_equals(its_name, NB_QUERY_AFTER)) {
        if (request->after.bytes != NULL)
            return given_twice(NB_QUERY_AFTER, error);
        request->after = (struct nb_string){value, decoded_value};
        return 0;
    }
    if (*known == NULL) /* rspamd's clients send parameters that have no meaning here */
        return is_for_mail ? 0 : unknown_parameter(request, its_name, error);
    if (nb_request_query(request, *known).bytes != NULL || request->query_count == NB_QUERY_MOST)
        return is_for_mail ? 0 /* for mail software the first one counts, as with header fields */
                           : given_twice(*known, error);
    assert(request->query_count < NB_QUERY_MOST);
    request->query[request->query_count++] =
        (struct nb_parameter){{*known, strlen(*known)}, {value, decoded_value}};
    return 0;
}

struct nb_string nb_request_field(const struct nb_request *request, const char *name)
{
    struct nb_string value = request->carrier->field(request, name);
    if (value.bytes != NULL || request->route == NULL || !request->route->protocol->is_for_mail)
        return value;
    for (size_t i = 0; i < request->query_count; i++) {
        const struct nb_parameter *parameter = &request->query[i];
        if (nb_string_equals_nocase(parameter->name, name))
            return parameter->value;
    }
    return value;
}
