/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc models: lists the models of the daemon.
 */
#include <string.h>

#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"

static void add_labels(struct nb_table *table, json_t *labels)
{
    struct nb_buffer text = {0};
    const char *name;
    const json_t *counts;
    int rc = nb_buffer_append(&text, "", 1);
    text.length = 0;
    json_object_foreach(labels, name, counts)
    {
        json_int_t documents = json_integer_value(json_object_get(counts, "documents"));
        if (rc == 0)
            rc = nb_buffer_printf(&text, "%s%s %lld", text.length > 0 ? ", " : "", name,
                                  (long long)documents);
    }
    nb_table_cell(table, "%s", rc == 0 ? text.bytes : "");
    nb_buffer_deinit(&text);
}

static void print_models(const json_t *models)
{
    static const char *const HEAD[] = {"model", ">documents", ">vocabulary", "labels"};
    struct nb_table table;
    size_t i;
    const json_t *model;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(models, i, model)
    {
        json_int_t documents = json_integer_value(json_object_get(model, "documents"));
        json_int_t vocabulary = json_integer_value(json_object_get(model, "vocabulary"));
        const char *name = json_string_value(json_object_get(model, "name"));
        if (json_object_get(model, "state") != NULL) {
            nb_table_cell(&table, "%s", name != NULL ? name : "?");
            nb_table_cell(&table, "%s", "");
            nb_table_cell(&table, "%s", "");
            nb_table_cell(&table, "%s", json_string_value(json_object_get(model, "state")));
            continue;
        }
        nb_table_cell(&table, "%s", name != NULL ? name : "?");
        nb_table_cell(&table, "%s", nb_figure_of((uint64_t)documents).text);
        nb_table_cell(&table, "%s", nb_figure_of((uint64_t)vocabulary).text);
        add_labels(&table, json_object_get(model, "labels"));
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* Asks for the models behind the last one of *reply, and adds them to it. */
static int get_next(struct nb_client *client, json_t *reply, struct nb_error *error)
{
    struct nb_buffer path = {NULL, 0, 0};
    json_t *page = NULL;
    const char *after = json_string_value(json_object_get(reply, "next"));
    int rc = nb_buffer_printf(&path, "/v1/models?after=%s", after); /* a name needs no escapes */
    if (rc != 0)
        return nb_error_no_memory(error);
    const struct nb_call_request request = {.method = "GET", .path = path.bytes};
    rc = nb_call_once(&client->daemon, &request, &page, error);
    nb_buffer_deinit(&path);
    (void)json_object_del(reply, "next"); /* which it has */
    if (rc == 0 &&
        json_array_extend(json_object_get(reply, "models"), json_object_get(page, "models")) != 0)
        rc = nb_error_set(error, NB_INVALID, "the daemon's list of models is none");
    if (rc == 0 && json_object_get(page, "next") != NULL)
        (void)json_object_set(reply, "next", json_object_get(page, "next"));
    json_decref(page);
    return rc;
}

/* All models, page by page. */
static int get_models(struct nb_client *client, json_t **reply, struct nb_error *error)
{
    const struct nb_call_request request = {.method = "GET", .path = "/v1/models"};
    int rc = nb_call_once(&client->daemon, &request, reply, error);
    while (rc == 0 && json_is_string(json_object_get(*reply, "next")))
        rc = get_next(client, *reply, error);
    return rc;
}

static int run_models(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)options;
    (void)arguments;
    (void)count;
    json_t *reply = NULL;
    int rc = get_models(client, &reply, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        print_models(json_object_get(reply, "models"));
    json_decref(reply);
    return rc;
}

const struct nb_command NB_COMMAND_MODELS = {
    .name = "models",
    .arguments = "",
    .summary = "Lists the models",
    .patience = 10,
    .run = run_models,
};
