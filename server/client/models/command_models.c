/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc models: lists the models of the daemon.
 */
#include <stdlib.h>
#include <string.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"

static void add_labels(struct nb_text_table *table, json_t *labels)
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

static void add_model(struct nb_text_table *table, const json_t *model)
{
    json_int_t documents = json_integer_value(json_object_get(model, "documents"));
    json_int_t vocabulary = json_integer_value(json_object_get(model, "vocabulary"));
    const char *name = json_string_value(json_object_get(model, "name"));
    const char *state = json_string_value(json_object_get(model, "state"));
    nb_table_cell(table, "%s", name != NULL ? name : "?");
    if (state != NULL) { /* damaged: there are no figures */
        const char *reason = json_string_value(json_object_get(model, "reason"));
        nb_table_cell(table, "-");
        nb_table_cell(table, "-");
        nb_table_cell(table, "%s: %s", state, reason != NULL ? reason : "");
        return;
    }
    nb_table_cell(table, "%s", nb_figure_of((uint64_t)documents).text);
    nb_table_cell(table, "%s", nb_figure_of((uint64_t)vocabulary).text);
    add_labels(table, json_object_get(model, "labels"));
}

static void print_models(const json_t *models)
{
    static const char *const HEAD[] = {"model", ">documents", ">vocabulary", "labels"};
    struct nb_text_table table;
    size_t i;
    const json_t *model;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(models, i, model)
    {
        add_model(&table, model);
    }

    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* Adds a page of the listing to `models`, an array. *after, owned by the caller, is the name behind
 * which the page begins; afterwards the name for the next page, or NULL. */
static int get_page(struct nb_call *call, char **after, json_t *models, struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *page = NULL;
    int rc = nb_buffer_append(&path, "/v1/models", sizeof "/v1/models");
    path.length -= rc == 0; /* the NUL is not counted */
    if (rc == 0)
        rc = nb_path_query(&path, "after", *after);
    const struct nb_call_request request = {.method = "GET", .path = path.bytes};
    rc = rc == 0 ? nb_call_json(call, &request, &page, error) : nb_error_no_memory(error);
    const char *next = json_string_value(json_object_get(page, "next"));
    if (rc == 0 && next != NULL && *after != NULL && strcmp(next, *after) <= 0)
        rc = nb_error_set(error, NB_CALL_PROTOCOL, "the pages of the listing do not advance");
    free(*after);
    *after = next != NULL ? strdup(next) : NULL;
    if (rc == 0 && ((next != NULL && *after == NULL) ||
                    json_array_extend(models, json_object_get(page, "models")) != 0))
        rc = nb_error_set(error, NB_CALL_PROTOCOL, "the reply has no models");
    json_decref(page);
    nb_buffer_deinit(&path);
    return rc;
}

static int get_models(const struct nb_client *client, json_t *models, struct nb_error *error)
{
    struct nb_call *call = NULL;
    char *after = NULL;
    int rc = nb_call_open(&client->daemon, &call, error);
    do {
        if (rc == 0)
            rc = get_page(call, &after, models, error);
    } while (rc == 0 && after != NULL);
    free(after);
    nb_call_close(&call);
    return rc;
}

static int run_models(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)options;
    (void)arguments;
    (void)count;
    json_t *models = json_array(), *all = json_pack("{s:o}", "models", models);
    int rc = all != NULL ? get_models(client, models, error) : nb_error_no_memory(error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(all, error);
    else if (rc == 0)
        print_models(models);
    json_decref(all);
    return rc;
}

const struct nb_command NB_COMMAND_MODELS = {
    .name = "models",
    .arguments = "",
    .unused = NB_UNUSED_MODEL,
    .summary = "Lists the models",
    .patience = 10,
    .run = run_models,
};
