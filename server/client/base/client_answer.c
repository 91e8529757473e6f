/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/client_answer.h"

#include <stdio.h>

#include "server/call/path.h"

int nb_answer_get(const struct nb_client *client, const char *rest, json_t **value,
                  struct nb_error *error)
{
    struct nb_buffer path = {0};
    int rc = nb_path_model(&path, client->model, rest);
    const struct nb_call_request request = {.method = "GET", .path = path.bytes};
    *value = NULL;
    rc =
        rc == 0 ? nb_call_once(&client->daemon, &request, value, error) : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    return rc;
}

int nb_answer_print(const json_t *value, struct nb_error *error)
{
    int rc = json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
    if (rc != 0 || putchar('\n') == EOF)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    return 0;
}

uint64_t nb_answer_number(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

const char *nb_answer_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}
