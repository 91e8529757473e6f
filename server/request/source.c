/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/source.h"

#include <string.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/request/query.h"
#include "server/request/request.h"

/* The name of the token that was shown, else the door. */
static struct nb_string origin_of(const struct nb_request *request)
{
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

/* Whether a list that is separated by commas has the name. */
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
