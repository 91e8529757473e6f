/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/wish.h"

#include <stdlib.h>
#include <string.h>

bool nb_wish_ids(json_t *wish, const struct nb_flag_list *ids)
{
    json_t *list = json_array();
    bool good = true;
    for (size_t i = 0; good && i < ids->count; i++)
        good = json_array_append_new(list, json_string(ids->items[i])) == 0;
    if (good && ids->count > 0)
        good = json_object_set(wish, "ids", list) == 0;
    json_decref(list);
    return good;
}

int nb_wish_post(struct nb_call *call, const char *path, const json_t *wish, json_t **reply,
                 struct nb_error *error)
{
    char *body = wish == NULL ? NULL : json_dumps(wish, JSON_COMPACT);
    if (body == NULL)
        return nb_error_set(error, NB_CLIENT_USAGE, "names, times and ids are UTF-8");
    const struct nb_call_request request = {
        .method = "POST", .path = path, .type = "application/json", .body = {body, strlen(body)}};
    int rc = nb_call_json(call, &request, reply, error);
    free(body);
    return rc;
}
