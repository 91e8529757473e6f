/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc refit: has the weights of a stacked model fitted anew.
 */
#include <stdio.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

static int run_refit(struct nb_client *client, const void *user, char **arguments, size_t count,
                     struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *row = NULL;
    (void)user;
    if (count == 1)
        client->model = arguments[0];
    int rc = nb_path_model(&path, client->model, "/refit");
    const struct nb_call_request request = {.method = "POST", .path = path.bytes};
    rc = rc == 0 ? nb_call_once(&client->daemon, &request, &row, error) : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    if (rc == 0 && client->json)
        rc = nb_answer_print(row, error);
    else if (rc == 0)
        (void)printf("%s: the weights fit %s documents\n", nb_shown(client->model).text,
                     nb_figure_of(nb_answer_number(row, "documents")).text);
    json_decref(row);
    return rc;
}

const struct nb_command NB_COMMAND_REFIT = {
    .name = "refit",
    .arguments = "[MODEL]",
    .model_from = 1,
    .summary = "Fits the weights of a stacked model anew, on its living documents",
    .details =
        "After it nothing is in the weights of what forgotten documents taught. The daemon does\n"
        "it by itself when much was forgotten or relabelled, or a setting changed.\n",
    .most = 1,
    .patience = 3600,
    .run = run_refit,
};
