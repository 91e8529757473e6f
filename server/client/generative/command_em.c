/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc em: what documents without a label give a model.
 */
#include <stdio.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

struct em_options {
    bool show;
};
static const struct em_options DEFAULTS = {.show = false};

static const struct nb_flag FLAGS[] = {
    {"show", 0, NB_FLAG_SWITCH, NULL, offsetof(struct em_options, show), 0, 0,
     "shows what was found before, and finds nothing"},
};

static void print_loss(const json_t *reply, const char *name)
{
    const json_t *loss = json_object_get(reply, name);
    (void)printf("%-8s %5.1f %% right, log-loss %.4f\n", name,
                 100 * json_number_value(json_object_get(loss, "accuracy")),
                 json_number_value(json_object_get(loss, "log_loss")));
}

static void print_found(const json_t *reply)
{
    (void)printf("a document without a label weighs %g, of %s\n",
                 json_number_value(json_object_get(reply, "weight")),
                 nb_figure_of(nb_answer_number(reply, "documents")).text);
    if (json_object_get(reply, "share") != NULL)
        (void)printf("%g %% of a verdict is what is said with them\n",
                     100 * json_number_value(json_object_get(reply, "share")));
    if (nb_answer_number(reply, "changed") > 0)
        (void)printf("%s documents have changed since\n",
                     nb_figure_of(nb_answer_number(reply, "changed")).text);
    if (nb_answer_number(reply, "measured") == 0)
        return;
    bool are_single = nb_answer_number(reply, "measured") == nb_answer_number(reply, "folds");
    (void)printf("%s documents that were left out, %s:\n",
                 nb_figure_of(nb_answer_number(reply, "measured")).text,
                 are_single ? "each alone" : "in folds");
    print_loss(reply, "without");
    print_loss(reply, "with");
}

static void print_state(const struct nb_client *client, const json_t *reply)
{
    const json_t *progress = json_object_get(reply, "progress");
    (void)printf("%s: %s", nb_shown(client->model).text,
                 nb_shown(nb_answer_text(reply, "state")).text);
    if (progress != NULL)
        (void)printf(", %s of %s fits", nb_figure_of(nb_answer_number(progress, "fits")).text,
                     nb_figure_of(nb_answer_number(progress, "of")).text);
    (void)putchar('\n');
    if (nb_answer_text(reply, "reason")[0] != '\0')
        (void)printf("%s\n", nb_shown(nb_answer_text(reply, "reason")).text);
    if (json_object_get(reply, "weight") != NULL)
        print_found(reply);
}

static int run_em(struct nb_client *client, const void *user, char **arguments, size_t count,
                  struct nb_error *error)
{
    const struct em_options *options = user;
    struct nb_buffer path = {0};
    json_t *reply = NULL;
    if (count == 1)
        client->model = arguments[0];
    int rc = nb_path_model(&path, client->model, "/em");
    const struct nb_call_request request = {.method = options->show ? "GET" : "POST",
                                            .path = path.bytes};
    rc = rc == 0 ? nb_call_once(&client->daemon, &request, &reply, error)
                 : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        print_state(client, reply);
    json_decref(reply);
    return rc;
}

const struct nb_command NB_COMMAND_EM = {
    .name = "em",
    .arguments = "[MODEL]",
    .model_from = 1,
    .summary = "Finds what documents without a label give a model",
    .details =
        "EM finds which labels they may have. Their weight is that of the setting\n"
        "unlabelled_weight, or the one with which documents that are left out are predicted best,\n"
        "or 0. The daemon does it by itself as documents come and go.\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = 1,
    .patience = 3600,
    .run = run_em,
};
