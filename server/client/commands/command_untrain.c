/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc untrain: removes documents from a model, given by their content or by their ids.
 */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "server/call/path.h"
#include "server/client/base/client_answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/run.h"
#include "server/client/terminal/terminal.h"

struct untrain_options {
    struct nb_files_options files;
    struct nb_flag_list ids;
    const char *source;
    uint64_t connections;
    bool is_quiet;
};

static const struct untrain_options DEFAULTS = {.connections = 4};

static const struct nb_flag FLAGS[] = {
    {"id", 'i', NB_FLAG_LIST, "ID", offsetof(struct untrain_options, ids), 0, 0,
     "the id of a document, instead of the document; may be repeated"},
    NB_SOURCE_FLAG(struct untrain_options),
    NB_FILES_FLAGS(struct untrain_options),
    {"connections", 'c', NB_FLAG_COUNT, "N", offsetof(struct untrain_options, connections), 1,
     NB_CONNECTIONS_MOST, "connections at the same time (default: 4)"},
    {"quiet", 'q', NB_FLAG_SWITCH, NULL, offsetof(struct untrain_options, is_quiet), 0, 0,
     "no progress bar and no summary"},
};

struct tally {
    uint64_t forgotten, unknown;
    uint64_t waiting; /* changes that wait for an administrator */
};

static void count_receipt(struct tally *tally, const json_t *receipt)
{
    const char *status = json_string_value(json_object_get(receipt, "status"));
    bool waits = status != NULL && strcmp(status, "quarantined") == 0;
    tally->waiting += waits;
    tally->forgotten += !waits;
}

static int take_receipt(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct tally *tally = user;
    (void)error;
    if (outcome->refusal == NULL)
        count_receipt(tally, outcome->result);
    tally->unknown += outcome->refusal != NULL;
    return 0;
}

static int untrain_id(struct nb_call *call, const char *path, const char *id, struct tally *tally,
                      struct nb_error *error)
{
    json_t *reply = NULL, *object = json_pack("{s:s}", "id", id);
    char *body = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (body == NULL)
        return nb_error_set(error, NB_CLIENT_USAGE, "--id: an id is UTF-8");
    const struct nb_call_request request = {
        .method = "POST", .path = path, .type = "application/json", .body = {body, strlen(body)}};
    int rc = nb_call_json(call, &request, &reply, error);
    if (rc == 0)
        count_receipt(tally, reply);
    if (rc == NB_NOT_FOUND) {
        nb_message("%s", error->text);
        tally->unknown++;
        rc = 0;
    }
    json_decref(reply);
    free(body);
    return rc;
}

static int untrain_ids(const struct nb_client *client, const struct untrain_options *options,
                       struct tally *tally, struct nb_error *error)
{
    const struct nb_flag_list *ids = &options->ids;
    struct nb_buffer path = {0};
    struct nb_call *call = NULL;
    int rc = nb_path_model(&path, client->model, "/untrain");
    if (rc == 0)
        rc = nb_path_query(&path, "source", options->source);
    rc = rc == 0 ? nb_call_open(&client->daemon, &call, error) : nb_error_no_memory(error);
    for (size_t i = 0; i < ids->count && rc == 0; i++)
        rc = untrain_id(call, path.bytes, ids->items[i], tally, error);
    nb_call_close(&call);
    nb_buffer_deinit(&path);
    return rc;
}

static int print_result(const struct nb_run *run, const struct tally *tally, bool is_quiet,
                        struct nb_error *error)
{
    if (run->client->json) {
        json_t *object =
            json_pack("{s:s, s:I, s:I, s:I, s:I}", "model", run->client->model, "forgotten",
                      (json_int_t)tally->forgotten, "unknown", (json_int_t)tally->unknown, "failed",
                      (json_int_t)run->refused, "unread", (json_int_t)run->unread);
        if (tally->waiting > 0)
            (void)json_object_set_new(object, "quarantined",
                                      json_integer((json_int_t)tally->waiting));
        int rc = nb_answer_print(object, error);
        json_decref(object);
        return rc;
    }
    if (!is_quiet)
        (void)printf("%s: %s forgotten, %s not known", nb_shown(run->client->model).text,
                     nb_figure_of(tally->forgotten).text, nb_figure_of(tally->unknown).text);
    if (!is_quiet && tally->waiting > 0)
        (void)printf(", %s wait for an administrator", nb_figure_of(tally->waiting).text);
    if (!is_quiet)
        (void)putchar('\n');
    return 0;
}

static int run_untrain(struct nb_client *client, const void *user, char **arguments, size_t count,
                       struct nb_error *error)
{
    const struct untrain_options *options = user;
    struct tally tally = {0};
    struct nb_run run = {
        .client = client,
        .files = &options->files,
        .operation = "/untrain",
        .source = options->source,
        .verb = "removed",
        .connections = (size_t)options->connections,
        .is_quiet = options->is_quiet,
        .take = take_receipt,
        .user = &tally,
    };
    int rc = nb_source_check(options->source, error);
    if (rc == 0)
        rc = untrain_ids(client, options, &tally, error);
    if (rc == 0 && (count > 0 || options->ids.count == 0))
        rc = nb_run_documents(&run, arguments, count, error);
    if (rc == 0)
        rc = print_result(&run, &tally, options->is_quiet, error);
    if (rc == 0)
        rc = nb_run_status(&run);
    return rc == 0 && tally.unknown > 0 ? EX_NOINPUT : rc;
}

const struct nb_command NB_COMMAND_UNTRAIN = {
    .name = "untrain",
    .arguments = "[PATH]...",
    .summary = "Removes documents, so that the model is as if it had never learned them",
    .details = NB_FILES_DETAILS
    "\nThe exit status is 66 when the model does not know one of the documents.\n",
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .most = SIZE_MAX,
    .patience = 300,
    .run = run_untrain,
};
