/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/models/settings_send.h"

#include <stdlib.h>
#include <string.h>

#include "server/call/path.h"
#include "server/client/base/source_flag.h"

#define ONLY_IF_NEW "If-None-Match: *" /* RFC 9110, section 13.1.2 */

int nb_settings_send(const struct nb_client *client, const json_t *settings, const char *source,
                     bool is_new, json_t **row, struct nb_error *error)
{
    struct nb_buffer path = {0};
    char *body = json_dumps(settings, JSON_COMPACT);
    int rc = nb_source_check(source, error);
    if (rc == 0 && (body == NULL || nb_path_model(&path, client->model, "") != 0 ||
                    nb_path_query(&path, "source", source) != 0))
        rc = nb_error_no_memory(error);
    struct nb_call_request request = {.method = "PUT",
                                      .path = path.bytes,
                                      .type = "application/json",
                                      .body = {body, body == NULL ? 0 : strlen(body)}};
    if (is_new)
        request.headers = (struct nb_string){ONLY_IF_NEW, sizeof ONLY_IF_NEW};
    if (rc == 0)
        rc = nb_call_once(&client->daemon, &request, row, error);
    nb_buffer_deinit(&path);
    free(body);
    return rc;
}
