/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/admission.h"

#include "server/request/access.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

static enum nb_role role_of(struct nb_request *request)
{
    const struct nb_access *access = request->access;
    struct nb_string token = nb_access_bearer(nb_request_field(request, "Authorization"));
    bool is_filter = request->route->protocol->is_for_mail;
    if (token.length == 0 && is_filter)
        token = nb_request_field(request, "Password");
    enum nb_role role = nb_access_role(access, token, &request->token_name);
    if (role < NB_ROLE_TRAIN && is_filter &&
        nb_access_trusts(access, request->carrier->address(request)))
        role = NB_ROLE_TRAIN;
    return role;
}

int nb_request_check_access(struct nb_request *request, struct nb_error *error)
{
    if (request->access == NULL || request->route->role == NB_ROLE_NONE)
        return 0;
    enum nb_role role = role_of(request);
    if (role >= request->route->role)
        return 0;
    if (role != NB_ROLE_NONE)
        return nb_error_set(error, NB_FORBIDDEN,
                            "this token's role does not reach: the request needs %s",
                            request->route->role == NB_ROLE_ADMIN ? "admin" : "train or admin");
    return nb_error_set(
        error, NB_UNKNOWN,
        request->route->protocol->is_for_mail
            ? "Unauthorized: show a token as Password or Authorization: Bearer, or "
              "have the address added to [tokens] trusted"
            : "the request needs a token that is known: Authorization: Bearer TOKEN");
}
