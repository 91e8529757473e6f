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
        nb_table_cell(&table, "%s", name != NULL ? name : "?");
        nb_table_cell(&table, "%s", nb_figure_of((uint64_t)documents).text);
        nb_table_cell(&table, "%s", nb_figure_of((uint64_t)vocabulary).text);
        add_labels(&table, json_object_get(model, "labels"));
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static int run_models(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)options;
    (void)arguments;
    (void)count;
    const struct nb_call_request request = {.method = "GET", .path = "/v1/models"};
    json_t *reply = NULL;
    int rc = nb_call_once(&client->daemon, &request, &reply, error);
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
