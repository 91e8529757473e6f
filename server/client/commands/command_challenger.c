/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc challenger: lets a model with other settings learn beside one that answers, compares both,
 * and promotes or drops the challenger.
 */
#include <stdio.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"

/* ---- show ------------------------------------------------------------------------------------ */

static const struct nb_exchange LOOKING = {.method = "GET",
                                           .path = "/v1/models/{model}/challenger"};
static const struct nb_exchange EVALUATING = {.method = "GET",
                                              .path = "/v1/models/{model}/evaluation"};

static void print_windows(const json_t *windows)
{
    struct nb_text_table table;
    size_t i;
    const json_t *row;
    nb_table_begin(&table, ">documents|>right|>challenger|>p|>log-loss|>challenger|>p");
    json_array_foreach(windows, i, row)
    {
        const json_t *champion = json_object_get(row, "champion");
        const json_t *challenger = json_object_get(row, "challenger");
        uint64_t documents = nb_answer_number(row, "documents");
        if (documents == 0 ||
            (i > 0 && documents == nb_answer_number(json_array_get(windows, i - 1), "documents")))
            continue; /* the window has no more documents than the one before */
        nb_table_cell(&table, "%s", nb_figure_of(documents).text);
        nb_table_cell(&table, "%.2f %%",
                      100 * json_number_value(json_object_get(champion, "accuracy")));
        nb_table_cell(&table, "%.2f %%",
                      100 * json_number_value(json_object_get(challenger, "accuracy")));
        nb_table_cell(&table, "%.2g", json_number_value(json_object_get(row, "mcnemar_p")));
        nb_table_cell(&table, "%.4f", json_number_value(json_object_get(champion, "log_loss")));
        nb_table_cell(&table, "%.4f", json_number_value(json_object_get(challenger, "log_loss")));
        nb_table_cell(&table, "%.2g", json_number_value(json_object_get(row, "log_loss_p")));
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* The comparison is a part of the evaluation; a model without scored documents has none. */
static int run_show(struct nb_asked *asked, struct nb_error *error)
{
    json_t *challenger = NULL, *evaluation = NULL;
    int rc = nb_exchange_ask(&LOOKING, asked, &challenger, error);
    if (rc == 0 && nb_exchange_ask(&EVALUATING, asked, &evaluation, error) == NB_CONFLICT)
        evaluation = NULL;
    json_t *comparison = json_object_get(evaluation, "challenger");
    if (rc == 0 && asked->client->json) {
        (void)json_object_set(challenger, "comparison", comparison);
        rc = nb_answer_print(challenger, error);
    } else if (rc == 0) {
        nb_exchange_text("{model}: {challenger}, {state}, has {documents document}\n"
                         "{?reason}{reason}\n",
                         asked, challenger);
        if (comparison != NULL)
            print_windows(json_object_get(comparison, "windows"));
    }
    json_decref(evaluation);
    json_decref(challenger);
    return rc;
}

/* ---- start ----------------------------------------------------------------------------------- */

static int fill_settings(const struct nb_asked *asked, json_t *body, struct nb_error *error)
{
    const struct nb_flag_list *given = &asked->options->settings;
    json_t *settings = json_object();
    int rc = given->count > 0 ? 0
                              : nb_error_set(error, NB_CLIENT_USAGE,
                                             "start needs --set NAME=VALUE: what the challenger "
                                             "does otherwise than the model");
    for (size_t i = 0; rc == 0 && i < given->count; i++)
        rc = nb_settings_put(settings, given->items[i], error);
    if (json_object_set_new(body, "settings", settings) != 0 && rc == 0)
        rc = nb_error_no_memory(error);
    return rc;
}

static void print_started(const struct nb_asked *asked, json_t *reply)
{
    nb_exchange_text(asked->options->dry_run ? "{model}: a challenger would learn {cost.documents "
                                               "document} first\n"
                                             : "{model}: {challenger} learns {cost.documents "
                                               "document} first\n",
                     asked, reply);
    nb_exchange_text("{?cost.memory_bytes}{#cost.memory_bytes} bytes of memory more, about\n"
                     "{?cost.disk_bytes}{#cost.disk_bytes} bytes of the disk more, about\n",
                     asked, reply);
    (void)printf("to learn a document takes %.2g times the work\n",
                 json_number_value(nb_answer_member(reply, nb_string_of("cost.train_cpu"))));
}

static const struct nb_exchange STARTING = {.method = "POST",
                                            .path = "/v1/models/{model}/challenger",
                                            .query = {"dry_run=dry-run"},
                                            .fill = fill_settings,
                                            .print = print_started};

/* ---- the command ----------------------------------------------------------------------------- */

static const struct nb_exchange PROMOTING = {.method = "POST",
                                             .path = "/v1/models/{model}/challenger/promote",
                                             .text = "{model}: has the challenger's settings\n"};
static const struct nb_exchange DROPPING = {.method = "DELETE",
                                            .path = "/v1/models/{model}/challenger",
                                            .text = "{model}: the challenger is dropped\n"};

static const struct nb_subcommand VERBS[] = {
    {"show", "", 0, 0, "", NULL, run_show},
    {"start", "", 0, 0, "set dry-run", &STARTING, NULL},
    {"promote", "", 0, 0, "", &PROMOTING, NULL},
    {"drop", "", 0, 0, "", &DROPPING, NULL},
};

static const struct nb_flag FLAGS[] = {NB_LIST("set", 0, settings),
                                       NB_SWITCH("dry-run", 'n', dry_run)};

const struct nb_command NB_COMMAND_CHALLENGER = {
    .name = "challenger",
    .model_from = 2,
    NB_FLAGS(FLAGS),
    NB_VERBS(VERBS),
    .most = 2,
    .patience = 300,
};
