/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc derive: makes a model that begins with what another one knows.
 */
#include <stdio.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

/* ".../from/OLD", percent-encoded. */
static int put_path(struct nb_buffer *path, const char *old, const char *new)
{
    int rc = nb_path_model(path, new, "/from/");
    return rc == 0 ? nb_path_segment(path, old) : rc;
}

static int run_derive(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *row = NULL;
    (void)user;
    (void)count;
    int rc = put_path(&path, arguments[0], arguments[1]);
    const struct nb_call_request request = {.method = "POST", .path = path.bytes};
    rc = rc == 0 ? nb_call_once(&client->daemon, &request, &row, error) : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    if (rc == 0 && client->json)
        rc = nb_answer_print(row, error);
    else if (rc == 0)
        (void)printf("%s: begins with %s documents of %s\n", nb_shown(arguments[1]).text,
                     nb_figure_of(nb_answer_number(row, "documents")).text,
                     nb_shown(arguments[0]).text);
    json_decref(row);
    return rc;
}

const struct nb_command NB_COMMAND_DERIVE = {
    .name = "derive",
    .arguments = "OLD NEW",
    .summary = "Makes a model that begins with what another one knows",
    .details =
        "What OLD has learned until now is the prior of NEW, frozen: neither sees what the other\n"
        "learns later, and OLD can be deleted.\n",
    .least = 2,
    .most = 2,
    .patience = 3600,
    .run = run_derive,
};
