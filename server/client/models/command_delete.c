/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc delete: deletes a model, after a question.
 */
#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/base/source_flag.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/ask.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

struct delete_options {
    const char *source;
    bool is_sure;
};

static const struct delete_options DEFAULTS = {.source = NULL};

static const struct nb_flag FLAGS[] = {
    {"yes", 'y', NB_FLAG_SWITCH, NULL, offsetof(struct delete_options, is_sure), 0, 0,
     "do not ask"},
    NB_SOURCE_FLAG(struct delete_options),
};

/* Asks the person. A damaged model has no figures. */
static int confirm(const struct nb_client *client, struct nb_error *error)
{
    json_t *row = NULL;
    struct nb_error ignored;
    if (!nb_ask_is_possible())
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "a model is deleted for good: say so with --yes, or call this on a "
                            "terminal");
    int rc = nb_answer_get(client, "", &row, &ignored);
    if (rc == NB_NOT_FOUND) {
        *error = ignored;
        return rc;
    }
    uint64_t documents = nb_answer_number(row, "documents");
    json_decref(row);
    bool is_sure = rc == 0
                       ? nb_ask("Delete the model %s with its %s documents for good?",
                                client->model, nb_figure_of(documents).text)
                       : nb_ask("Delete the model %s for good? (%s)", client->model, ignored.text);
    return is_sure ? 0 : nb_error_set(error, NB_INVALID, "nothing was deleted");
}

static int run_delete(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct delete_options *options = user;
    struct nb_buffer path = {0};
    json_t *nothing = NULL;
    (void)count;
    client->model = arguments[0];
    int rc = nb_source_check(options->source, error);
    if (rc == 0 && !options->is_sure)
        rc = confirm(client, error);
    if (rc == 0 && (nb_path_model(&path, client->model, "") != 0 ||
                    nb_path_query(&path, "source", options->source) != 0))
        rc = nb_error_no_memory(error);
    const struct nb_call_request request = {.method = "DELETE", .path = path.bytes};
    if (rc == 0)
        rc = nb_call_once(&client->daemon, &request, &nothing, error);
    if (rc == 0 && !client->json)
        (void)printf("%s: deleted\n", nb_shown(client->model).text);
    json_decref(nothing);
    nb_buffer_deinit(&path);
    return rc;
}

const struct nb_command NB_COMMAND_DELETE = {
    .name = "delete",
    .arguments = "MODEL",
    .model_from = 1,
    .summary = "Deletes a model and all that it has learned",
    .details =
        "It asks first, unless --yes is given. Nothing brings the model back: bayesc export keeps\n"
        "it. A model that is the parent of another one is not deleted. It needs a token of the\n"
        "role admin.\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .least = 1,
    .most = 1,
    .patience = 60,
    .run = run_delete,
};
