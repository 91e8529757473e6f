/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc rename-label and delete-label. A label is deleted in parts, so that no request takes long.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/base/source_flag.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/ask.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

#define PART "2000" /* documents of one request to delete */

enum { RENAMED = 2, DELETED = 1 /* arguments without the name of a model */ };

struct label_options {
    const char *by;
    bool is_quiet, is_merged, is_sure;
};

static const struct label_options DEFAULTS = {.by = NULL};

/* clang-format off */
#define COMMON_FLAGS                                                                               \
    {"by", 0, NB_FLAG_TEXT, "NAME", offsetof(struct label_options, by), 0, 0,                      \
     "name recorded with the change (default: the name of the token, or http)"},                   \
    {"quiet", 'q', NB_FLAG_SWITCH, NULL, offsetof(struct label_options, is_quiet), 0, 0,           \
     "no summary"}
/* clang-format on */

static const struct nb_flag RENAME_FLAGS[] = {
    {"merge", 0, NB_FLAG_SWITCH, NULL, offsetof(struct label_options, is_merged), 0, 0,
     "there is a label NAME: its documents and those of LABEL become one"},
    COMMON_FLAGS,
};

static const struct nb_flag DELETE_FLAGS[] = {
    {"yes", 'y', NB_FLAG_SWITCH, NULL, offsetof(struct label_options, is_sure), 0, 0, "do not ask"},
    COMMON_FLAGS,
};

/* The first argument is the name of the model if there is one more than needed; gives the others.
 */
static char **take_model(struct nb_client *client, char **arguments, size_t count, size_t needed)
{
    if (count > needed)
        client->model = arguments[0];
    return arguments + (count - needed);
}

/* The path of a label, with who asks in the query. */
static int path_of(const struct nb_client *client, const struct label_options *options,
                   const char *label, struct nb_buffer *path, struct nb_error *error)
{
    int rc = nb_source_check(options->by, error);
    if (rc == 0 &&
        (nb_path_model(path, client->model, "/labels/") != 0 || nb_path_segment(path, label) != 0 ||
         nb_path_query(path, "source", options->by) != 0))
        rc = nb_error_no_memory(error);
    return rc;
}

/* ---- rename ---------------------------------------------------------------------------------- */

static int run_rename(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct label_options *options = user;
    struct nb_buffer path = {0};
    arguments = take_model(client, arguments, count, RENAMED);
    json_t *name = json_pack("{s:s}", "name", arguments[1]), *row = NULL;
    if (options->is_merged)
        (void)json_object_set_new(name, "merge", json_true());
    char *body = name == NULL ? NULL : json_dumps(name, JSON_COMPACT);
    json_decref(name);
    if (body == NULL)
        return nb_error_set(error, NB_INVALID, "the new name is not UTF-8");
    int rc = path_of(client, options, arguments[0], &path, error);
    const struct nb_call_request request = {.method = "PATCH",
                                            .path = path.bytes,
                                            .type = "application/json",
                                            .body = nb_string_of(body)};
    if (rc == 0)
        rc = nb_call_once(&client->daemon, &request, &row, error);
    free(body);
    nb_buffer_deinit(&path);
    if (rc == 0 && client->json)
        rc = nb_answer_print(row, error);
    else if (rc == 0 && !options->is_quiet)
        (void)printf("%s: %s %s is %s now\n", nb_shown(client->model).text,
                     options->is_merged ? "what had the label" : "the label",
                     nb_shown(arguments[0]).text, nb_shown(arguments[1]).text);
    json_decref(row);
    return rc;
}

/* ---- delete ---------------------------------------------------------------------------------- */

/* One request for a part. *next is where the next one goes on; 0: this was the last. */
static int delete_part(struct nb_call *call, const char *path, uint64_t *next, uint64_t *forgotten,
                       struct nb_error *error)
{
    struct nb_buffer target = {0};
    json_t *part = NULL;
    char number[24];
    (void)snprintf(number, sizeof number, "%" PRIu64, *next);
    int rc = nb_buffer_puts(&target, path);
    if (rc == 0)
        rc = nb_path_query(&target, "limit", PART);
    if (rc == 0)
        rc = nb_path_query(&target, "next", *next == 0 ? NULL : number);
    const struct nb_call_request request = {.method = "DELETE", .path = target.bytes};
    rc = rc != 0 ? nb_error_no_memory(error) : nb_call_json(call, &request, &part, error);
    *forgotten += nb_answer_number(part, "forgotten");
    *next = nb_answer_number(part, "next");
    nb_buffer_deinit(&target);
    json_decref(part);
    return rc;
}

static int delete_all(struct nb_client *client, const char *path, uint64_t *forgotten,
                      struct nb_error *error)
{
    struct nb_call *call = NULL;
    uint64_t next = 0;
    int rc = nb_call_open(&client->daemon, &call, error);
    do {
        if (rc == 0)
            rc = delete_part(call, path, &next, forgotten, error);
    } while (rc == 0 && next != 0);
    nb_call_close(&call);
    return rc;
}

static int print_deleted(const struct nb_client *client, const char *label, uint64_t forgotten,
                         struct nb_error *error)
{
    if (!client->json) {
        (void)printf("%s: %s documents of the label %s are forgotten\n",
                     nb_shown(client->model).text, nb_figure_of(forgotten).text,
                     nb_shown(label).text);
        return 0;
    }
    json_t *said = json_pack("{s:s, s:s, s:I}", "model", client->model, "label", label, "forgotten",
                             (json_int_t)forgotten);
    int rc = said == NULL ? nb_error_no_memory(error) : nb_answer_print(said, error);
    json_decref(said);
    return rc;
}

/* Asks the person. A label that the model has not is refused when it is to be deleted. */
static int confirm(const struct nb_client *client, const char *label, struct nb_error *error)
{
    json_t *row = NULL;
    if (!nb_ask_is_possible())
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "documents are forgotten for good: say so with --yes, or call this on "
                            "a terminal");
    int rc = nb_answer_get(client, "", &row, error);
    if (rc != 0)
        return rc;
    const json_t *known = json_object_get(json_object_get(row, "labels"), label);
    bool is_sure =
        known == NULL || nb_ask("Forget the %s documents of the label %s of the model %s for good?",
                                nb_figure_of(nb_answer_number(known, "documents")).text,
                                nb_shown(label).text, nb_shown(client->model).text);
    json_decref(row);
    return is_sure ? 0 : nb_error_set(error, NB_INVALID, "nothing was forgotten");
}

static int run_delete(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct label_options *options = user;
    struct nb_buffer path = {0};
    uint64_t forgotten = 0;
    arguments = take_model(client, arguments, count, DELETED);
    int rc = path_of(client, options, arguments[0], &path, error);
    if (rc == 0 && !options->is_sure)
        rc = confirm(client, arguments[0], error);
    if (rc == 0)
        rc = delete_all(client, path.bytes, &forgotten, error);
    if (rc == 0 && (client->json || !options->is_quiet))
        rc = print_deleted(client, arguments[0], forgotten, error);
    nb_buffer_deinit(&path);
    return rc;
}

const struct nb_command NB_COMMAND_RENAME_LABEL = {
    .name = "rename-label",
    .arguments = "[MODEL] LABEL NAME",
    .model_from = 3,
    .summary = "Gives a label of a model another name",
    .details =
        "Its documents and counts stay. Another label must not have the name, unless --merge is\n"
        "given: then the documents of LABEL become its own, each as if it were trained with it,\n"
        "and LABEL stays without documents. It needs a token of the role admin.\n",
    .flags = RENAME_FLAGS,
    .flag_count = sizeof RENAME_FLAGS / sizeof RENAME_FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .least = RENAMED,
    .most = RENAMED + 1,
    .patience = 300,
    .run = run_rename,
};

const struct nb_command NB_COMMAND_DELETE_LABEL = {
    .name = "delete-label",
    .arguments = "[MODEL] LABEL",
    .model_from = 2,
    .summary = "Forgets all documents of a label",
    .details =
        "It asks first, unless --yes is given. The model is then as if they had never been\n"
        "learned; the label stays without documents.\n"
        "What was cut off is finished by the same command. It needs a token of the role admin.\n"
        "Nothing brings the documents back: bayesc export keeps the model as it is.\n",
    .flags = DELETE_FLAGS,
    .flag_count = sizeof DELETE_FLAGS / sizeof DELETE_FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .least = DELETED,
    .most = DELETED + 1,
    .patience = 300,
    .run = run_delete,
};
