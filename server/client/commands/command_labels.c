/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc rename-label and delete-label. A label is deleted in parts, so that no request takes long.
 */
#include <stdio.h>

#include "server/client/base/client_answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"
#include "server/client/terminal/terminal.h"

enum {
    PART = 2000, /* documents that one request deletes */
    RENAMED = 2,
    DELETED = 1 /* arguments without the name of a model */
};

struct label_options {
    const char *by;
    bool is_quiet, is_merged, is_sure;
    uint64_t part, next; /* of delete-label: documents of a request, where it goes on; 0: at the
                            beginning */
};

static const struct label_options DEFAULTS = {.part = PART};

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

/* ---- rename ---------------------------------------------------------------------------------- */

static void print_renamed(const struct nb_exchange_input *asked, json_t *row)
{
    const struct label_options *options = asked->options;
    if (!options->is_quiet)
        nb_exchange_text(options->is_merged ? "{model}: what had the label {0} is {1} now\n"
                                            : "{model}: the label {0} is {1} now\n",
                         asked, row);
}

static const struct nb_exchange RENAMING = {
    .method = "PATCH",
    .path = "/v1/models/{model}/labels/{0}",
    .query = {{"source", NB_FLAG_TEXT, offsetof(struct label_options, by), false}},
    .body = {{"merge", NB_FLAG_SWITCH, offsetof(struct label_options, is_merged), false}},
    .print = print_renamed,
};

static int run_rename(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    json_t *name = json_pack("{s:s}", "name", arguments[1]);
    const struct nb_exchange_input asked = {NB_ASKED(client, user, arguments, count), .body = name};
    int rc = name != NULL ? nb_exchange_run(&RENAMING, &asked, error)
                          : nb_error_set(error, NB_INVALID, "the new name is not UTF-8");
    json_decref(name);
    return rc;
}

/* ---- delete ---------------------------------------------------------------------------------- */

/* Asks the person for confirmation, unless the model does not have the label: then the request to
 * delete it is refused. */
static int confirm(const struct nb_exchange_input *asked, struct nb_error *error)
{
    const struct label_options *options = asked->options;
    const struct nb_client *client = asked->client;
    const char *label = asked->arguments[0];
    json_t *row = NULL;
    if (options->is_sure || options->next > 0) /* the question came before the first part */
        return 0;
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

static const struct nb_exchange DELETING = {
    .method = "DELETE",
    .path = "/v1/models/{model}/labels/{0}",
    .query = {{"source", NB_FLAG_TEXT, offsetof(struct label_options, by), false},
              {"limit", NB_FLAG_COUNT, offsetof(struct label_options, part), false},
              {"next", NB_FLAG_COUNT, offsetof(struct label_options, next), true}},
    .before = confirm,
    .text = "{model}: {#forgotten} documents of the label {label} are forgotten\n",
};

/* Deletes the label part by part, and prints one reply with the totals of all parts. */
static int run_delete(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    struct label_options options = *(const struct label_options *)user;
    struct nb_exchange_input asked = {NB_ASKED(client, &options, arguments, count)};
    uint64_t forgotten = 0;
    int rc = nb_call_open(&client->daemon, &asked.call, error);
    do {
        json_t *part = NULL;
        if (rc == 0)
            rc = nb_exchange_ask(&DELETING, &asked, &part, error);
        forgotten += nb_answer_number(part, "forgotten");
        options.next = nb_answer_number(part, "next");
        json_decref(part);
    } while (rc == 0 && options.next != 0);
    nb_call_close(&asked.call);
    if (rc != 0 || (options.is_quiet && !client->json))
        return rc;
    json_t *all = json_pack("{s:s, s:s, s:I}", "model", client->model, "label", arguments[0],
                            "forgotten", (json_int_t)forgotten);
    rc = all != NULL ? nb_exchange_show(&DELETING, &asked, all, error) : nb_error_no_memory(error);
    json_decref(all);
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
    NB_COMMAND_FLAGS(RENAME_FLAGS, DEFAULTS),
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
    NB_COMMAND_FLAGS(DELETE_FLAGS, DEFAULTS),
    .least = DELETED,
    .most = DELETED + 1,
    .patience = 300,
    .run = run_delete,
};
