/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc show: the settings of a model, and what they mean, in the words of the daemon's own
 * description of its interface.
 */
#include <stdlib.h>
#include <string.h>

#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/models/settings_table.h"
#include "server/client/terminal/terminal.h"

enum { WIDTH = 88 /* columns of a line of text */ };

/* *meanings, owned by the caller: by name what the daemon says of each setting. */
static int get_meanings(const struct nb_client *client, json_t **meanings, struct nb_error *error)
{
    json_t *interface = NULL;
    const struct nb_call_request request = {.method = "GET", .path = "/openapi.json"};
    int rc = nb_call_once(&client->daemon, &request, &interface, error);
    json_t *schemas = json_object_get(json_object_get(interface, "components"), "schemas");
    *meanings = json_incref(json_object_get(json_object_get(schemas, "Settings"), "properties"));
    json_decref(interface);
    return rc;
}

/* Prints words in lines of at most WIDTH columns, if none is longer. */
static void print_wrapped(const char *text)
{
    size_t column = 0;
    while (*(text += strspn(text, " \n")) != '\0') {
        size_t length = strcspn(text, " \n");
        bool is_full = column > 0 && column + 1 + length > WIDTH;
        (void)printf("%s%.*s", is_full ? "\n" : column > 0 ? " " : "", (int)length, text);
        column = (is_full || column == 0 ? 0 : column + 1) + length;
        text += length;
    }
    (void)putchar('\n');
}

static int explain(const json_t *settings, const json_t *meanings, const char *name,
                   struct nb_error *error)
{
    const json_t *value = json_object_get(settings, name), *row = json_object_get(meanings, name);
    if (value == NULL)
        return nb_error_set(error, NB_NOT_FOUND,
                            "there is no setting '%s' (bayesc show MODEL lists them)", name);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
    char *usual = json_dumps(json_object_get(row, "x-default"), JSON_ENCODE_ANY | JSON_COMPACT);
    (void)printf("%s = %s\n", nb_shown(name).text, nb_shown(text != NULL ? text : "").text);
    if (usual != NULL)
        (void)printf("default of the preset text: %s\n", nb_shown(usual).text);
    struct nb_buffer meaning = {0};
    nb_terminal_safe(nb_answer_text(row, "description"), SIZE_MAX, &meaning);
    print_wrapped(meaning.bytes != NULL ? meaning.bytes : "");
    nb_buffer_deinit(&meaning);
    free(text);
    free(usual);
    return 0;
}

static int run_show(struct nb_client *client, const void *user, char **arguments, size_t count,
                    struct nb_error *error)
{
    json_t *row = NULL, *meanings = NULL;
    (void)user;
    if (count > 0)
        client->model = arguments[0];
    int rc = nb_answer_get(client, "", &row, error);
    json_t *settings = json_object_get(row, "settings");
    if (rc == 0 && count > 1)
        rc = get_meanings(client, &meanings, error);
    for (size_t i = 1; i < count && rc == 0 && !client->json; i++)
        rc = explain(settings, meanings, arguments[i], error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(row, error);
    else if (rc == 0 && count <= 1)
        nb_settings_table_print(settings);
    json_decref(meanings);
    json_decref(row);
    return rc;
}

const struct nb_command NB_COMMAND_SHOW = {
    .name = "show",
    .arguments = "[MODEL [SETTING]...]",
    .model_from = 1,
    .summary = "Shows the settings of a model, or says what some of them mean",
    .details = "`bayesc set` changes them.\n"
               "\n"
               "  bayesc show mail\n"
               "  bayesc show mail near_duplicates max_age\n",
    .most = SIZE_MAX,
    .patience = 10,
    .run = run_show,
};
