/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/admission.h"

#include <limits.h>

#include "server/access/limits.h"
#include "server/access/models.h"
#include "server/base/metrics.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

static void find_peer(struct nb_request *request)
{
    const struct nb_carrier *carrier = request->carrier;
    struct nb_forwarding forwarding = {.is_there = false};
    carrier->forwarded(request, &forwarding);
    if (carrier->field(request, "Forwarded").bytes != NULL ||
        carrier->field(request, "Via").bytes != NULL)
        forwarding.is_there = true;
    request->peer = nb_peer_of(carrier->socket(request), carrier->address(request), &forwarding,
                               nb_access_proxies(request->access));
    request->peer.certificate = carrier->certificate(request);
}

static struct nb_string find_token(const struct nb_request *request)
{
    struct nb_string token = nb_access_bearer(nb_request_field(request, "Authorization"));
    if (token.length == 0 && request->route->protocol->is_for_mail)
        token = nb_request_field(request, "Password");
    return token;
}

/* The client may come again after that time. */
static int refuse_for_now(struct nb_request *request, uint64_t nanoseconds, enum nb_refused reason,
                          const char *what, struct nb_error *error)
{
    uint64_t seconds = nanoseconds / 1000000000u + 1;
    request->reply.retry_after = seconds < UINT_MAX ? (unsigned)seconds : UINT_MAX;
    nb_metrics_refused(request->server->metrics, reason);
    return nb_error_set(error, NB_BUSY, "%s; come again in %u seconds", what,
                        request->reply.retry_after);
}

static int check_failures(struct nb_request *request, struct nb_error *error)
{
    uint64_t wait =
        nb_limits_judge(request->server->limits, nb_access_rate_failures(request->access),
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
        is_train ? nb_access_rate_train(request->access) : nb_access_rate_classify(request->access);
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

/* The request needs a token, or a better one. */
static int refuse_unknown(const struct nb_request *request, struct nb_error *error)
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
    return nb_error_set(error, NB_UNKNOWN,
                        "the request needs a token that is known: Authorization: Bearer TOKEN");
}

bool nb_request_is_for(const struct nb_request *request, struct nb_string model)
{
    return nb_models_match(request->grant.models, model);
}

int nb_request_check_model(const struct nb_request *request, struct nb_string model,
                           struct nb_error *error)
{
    return nb_models_check(request->grant.models, model, error);
}

/* The model of the path; of paths without one, what tells of all models or changes the whole store
 * needs a token for all. */
static int check_models(const struct nb_request *request, struct nb_error *error)
{
    const struct nb_route *route = request->route;
    if (request->model.length > 0)
        return nb_request_check_model(request, request->model, error);
    bool is_of_all = route->is_of_all || route->role == NB_ROLE_ADMIN;
    if (!is_of_all || nb_models_are_all(request->grant.models))
        return 0;
    return nb_error_set(error, NB_FORBIDDEN,
                        "this token is for the models %s only; the request needs one for all",
                        request->grant.models);
}

/* The role and the models, by the grant. */
static int check_grant(const struct nb_request *request, struct nb_error *error)
{
    enum nb_role needed = request->route->role;
    if (request->grant.role >= needed)
        return check_models(request, error);
    if (request->grant.role != NB_ROLE_NONE)
        return nb_error_set(error, NB_FORBIDDEN,
                            "this token's role does not reach: the request needs %s",
                            needed == NB_ROLE_ADMIN ? "admin" : "train or admin");
    if (nb_access_asks(request->access))
        return refuse_unknown(request, error);
    return nb_error_set(error, NB_FORBIDDEN,
                        "the request came through a proxy, and there are no [tokens]: set some, or "
                        "write 'insecure = yes' to [server] when the proxy keeps strangers out");
}

int nb_request_check_access(struct nb_request *request, struct nb_error *error)
{
    find_peer(request);
    struct nb_string token = find_token(request);
    request->grant = nb_access_grant(request->access, &request->peer, token,
                                     request->route->protocol->is_for_mail);
    if (request->route->role == NB_ROLE_NONE)
        return 0;
    int rc = 0;
    if (token.length > 0 && !request->grant.is_by_address)
        rc = check_failures(request, error);
    if (rc == 0)
        rc = check_grant(request, error);
    if (rc == NB_UNKNOWN)
        nb_metrics_refused(request->server->metrics, NB_REFUSED_TOKEN);
    if (rc == 0 && request->route->body == NB_BODY_DOCUMENTS)
        rc = take_place(request, true, error);
    return rc;
}
