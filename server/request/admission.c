/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/admission.h"

#include "server/access/models.h"
#include "server/request/query.h"
#include "server/request/request.h"

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
}

static struct nb_string find_token(const struct nb_request *request)
{
    struct nb_string token = nb_access_bearer(nb_request_field(request, "Authorization"));
    if (token.length == 0 && request->route->protocol->is_for_mail)
        token = nb_request_field(request, "Password");
    return token;
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

int nb_request_check_access(struct nb_request *request, struct nb_error *error)
{
    const struct nb_access *access = request->access;
    enum nb_role needed = request->route->role;
    find_peer(request);
    request->grant = nb_access_grant(access, &request->peer, find_token(request),
                                     request->route->protocol->is_for_mail);
    if (needed == NB_ROLE_NONE)
        return 0;
    if (request->grant.role >= needed)
        return check_models(request, error);
    if (request->grant.role != NB_ROLE_NONE)
        return nb_error_set(error, NB_FORBIDDEN,
                            "this token's role does not reach: the request needs %s",
                            needed == NB_ROLE_ADMIN ? "admin" : "train or admin");
    if (nb_access_asks(access))
        return refuse_unknown(request, error);
    return nb_error_set(error, NB_FORBIDDEN,
                        "the request came through a proxy, and there are no [tokens]: set some, or "
                        "write 'insecure = yes' to [server] when the proxy keeps strangers out");
}
