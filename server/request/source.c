/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/source.h"

#include "core/engine/engine.h"
#include "server/request/query.h"
#include "server/request/request.h"

int nb_request_source(const struct nb_request *request, struct nb_string *source,
                      struct nb_error *error)
{
    struct nb_string given = {NULL, 0};
    if (!request->route->protocol->is_for_mail)
        given = nb_request_query(request, "source");
    if (given.length > 0) {
        *source = given;
        return nb_check_source(given, error);
    }
    const char *name = request->grant.name;
    *source = nb_string_of(name[0] != '\0' ? name : request->route->protocol->door);
    return 0;
}
