/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc models, delete, derive, refit and em: models as a whole.
 */
#include <stdio.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/base/text_table.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"

/* ---- models ---------------------------------------------------------------------------------- */

static const struct nb_exchange LISTING = {.method = "GET", .path = "/v1/models"};

/* Adds "ham 12, spam 3", or for a damaged model the description of the damage. */
static void add_labels(struct nb_text_table *table, const char *row_name, const json_t *model)
{
    struct nb_buffer text = {0};
    const char *name;
    const json_t *counts;
    (void)row_name;
    if (json_object_get(model, "state") != NULL) {
        nb_table_cell(table, "%s: %s", nb_answer_text(model, "state"),
                      nb_answer_text(model, "reason"));
        return;
    }
    json_object_foreach(json_object_get(model, "labels"), name, counts)
    {
        (void)nb_buffer_printf(&text, "%s%s %ju", text.length > 0 ? ", " : "", name,
                               (uintmax_t)nb_answer_number(counts, "documents"));
    }
    nb_table_cell(table, "%.*s", (int)text.length, text.length > 0 ? text.bytes : "");
    nb_buffer_deinit(&text);
}

/* Adds a figure of a model. A damaged model has none. */
static void add_figure(struct nb_text_table *table, const json_t *model, const char *member)
{
    bool is_damaged = json_object_get(model, "state") != NULL;
    nb_table_cell(table, "%s",
                  is_damaged ? "-" : nb_figure_of(nb_answer_number(model, member)).text);
}

static void add_documents(struct nb_text_table *table, const char *name, const json_t *model)
{
    (void)name;
    add_figure(table, model, "documents");
}

static void add_vocabulary(struct nb_text_table *table, const char *name, const json_t *model)
{
    (void)name;
    add_figure(table, model, "vocabulary");
}

static const struct nb_table_column MODEL_COLUMNS[] = {
    NB_COLUMN("model", "name", NB_CELL_TEXT, 0),
    {.head = ">documents", .add = add_documents},
    {.head = ">vocabulary", .add = add_vocabulary},
    {.head = "labels", .add = add_labels},
};

static int take_models(void *models, json_t *page, struct nb_error *error)
{
    return json_array_extend(models, json_object_get(page, "models")) == 0
               ? 0
               : nb_error_set(error, NB_CALL_PROTOCOL, "the reply has no models");
}

static int run_models(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    json_t *models = json_array(), *all = json_pack("{s:o}", "models", models);
    int rc = all != NULL ? nb_exchange_pages(&LISTING, &asked, take_models, models, error)
                         : nb_error_no_memory(error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(all, error);
    else if (rc == 0)
        nb_table_rows_print(NB_COLUMNS(MODEL_COLUMNS), models);
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

/* ---- delete ---------------------------------------------------------------------------------- */

struct delete_options {
    const char *source;
    bool is_sure;
};

static const struct delete_options DELETE_DEFAULTS = {.source = NULL};

static const struct nb_flag DELETE_FLAGS[] = {
    {"yes", 'y', NB_FLAG_SWITCH, NULL, offsetof(struct delete_options, is_sure), 0, 0,
     "do not ask"},
    NB_SOURCE_FLAG(struct delete_options),
};

/* Asks the person for confirmation. A damaged model has no figures. */
static int confirm(const struct nb_exchange_input *asked, struct nb_error *error)
{
    const struct nb_client *client = asked->client;
    const struct delete_options *options = asked->options;
    json_t *row = NULL;
    struct nb_error ignored;
    if (options->is_sure)
        return 0;
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

static const struct nb_exchange DELETING = {
    .method = "DELETE",
    .path = "/v1/models/{model}",
    .query = {{"source", NB_FLAG_TEXT, offsetof(struct delete_options, source), false}},
    .before = confirm,
    .text = "{model}: deleted\n",
};

const struct nb_command NB_COMMAND_DELETE = {
    .name = "delete",
    .arguments = "MODEL",
    .model_from = 1,
    .summary = "Deletes a model and all that it has learned",
    .details =
        "It asks first, unless --yes is given. Nothing brings the model back: bayesc export keeps\n"
        "it. A model that is the parent of another one is not deleted. It needs a token of the\n"
        "role admin.\n",
    NB_COMMAND_FLAGS(DELETE_FLAGS, DELETE_DEFAULTS),
    .least = 1,
    .most = 1,
    .patience = 60,
    .exchange = &DELETING,
};

/* ---- derive ---------------------------------------------------------------------------------- */

struct derive_options {
    uint64_t strength; /* in documents; 0: all of them */
};

static const struct derive_options DERIVE_DEFAULTS = {.strength = 0};

static const struct nb_flag DERIVE_FLAGS[] = {
    {"strength", 's', NB_FLAG_COUNT, "N", offsetof(struct derive_options, strength), 1, 1e9,
     "what OLD knows weighs as N documents at most (default: as all that it has)"},
};

static void print_derived(const struct nb_exchange_input *asked, json_t *row)
{
    const struct derive_options *options = asked->options;
    nb_exchange_text(options->strength > 0 ? "{1}: its prior is {settings.parent}, a copy of {0}\n"
                                           : "{1}: begins with {#documents} documents of {0}\n",
                     asked, row);
}

static const struct nb_exchange DERIVING = {
    .method = "POST",
    .path = "/v1/models/{1}/from/{0}",
    .query = {{"strength", NB_FLAG_COUNT, offsetof(struct derive_options, strength), true}},
    .print = print_derived,
};

const struct nb_command NB_COMMAND_DERIVE = {
    .name = "derive",
    .arguments = "OLD NEW",
    .unused = NB_UNUSED_MODEL,
    .summary = "Makes a model that begins with what another one knows",
    .details =
        "What OLD has learned until now becomes the prior of NEW. Later changes of OLD do not\n"
        "reach NEW, and OLD can be deleted. With --strength NEW begins without documents, and its\n"
        "parent is a frozen copy of OLD, the model NEW.prior. The smaller N is, the sooner NEW's\n"
        "own documents outweigh the parent.\n",
    NB_COMMAND_FLAGS(DERIVE_FLAGS, DERIVE_DEFAULTS),
    .least = 2,
    .most = 2,
    .patience = 3600,
    .exchange = &DERIVING,
};

/* ---- refit ----------------------------------------------------------------------------------- */

static const struct nb_exchange REFITTING = {
    .method = "POST",
    .path = "/v1/models/{model}/refit",
    .text = "{model}: the weights fit {#documents} documents\n",
};

const struct nb_command NB_COMMAND_REFIT = {
    .name = "refit",
    .arguments = "[MODEL]",
    .model_from = 1,
    .summary = "Fits the weights of a stacked model again, to its current documents",
    .details =
        "A refit removes what forgotten documents left in the weights. The daemon does it by\n"
        "itself when many documents were forgotten or relabelled, or when a setting has changed.\n",
    .most = 1,
    .patience = 3600,
    .exchange = &REFITTING,
};

/* ---- em -------------------------------------------------------------------------------------- */

struct em_options {
    bool show;
};
static const struct em_options EM_DEFAULTS = {.show = false};

static const struct nb_flag EM_FLAGS[] = {
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

static void print_found(const struct nb_exchange_input *asked, const json_t *reply)
{
    (void)printf("a document without a label weighs %g, of %s\n",
                 json_number_value(json_object_get(reply, "weight")),
                 nb_figure_of(nb_answer_number(reply, "documents")).text);
    if (json_object_get(reply, "share") != NULL)
        (void)printf("%g %% of a verdict is what is said with them\n",
                     100 * json_number_value(json_object_get(reply, "share")));
    nb_exchange_text("{?changed}{#changed} documents have changed since\n", asked, reply);
    if (nb_answer_number(reply, "measured") == 0)
        return;
    bool are_single = nb_answer_number(reply, "measured") == nb_answer_number(reply, "folds");
    (void)printf("%s documents that were left out, %s:\n",
                 nb_figure_of(nb_answer_number(reply, "measured")).text,
                 are_single ? "each alone" : "in folds");
    print_loss(reply, "without");
    print_loss(reply, "with");
}

static void print_em(const struct nb_exchange_input *asked, json_t *reply)
{
    nb_exchange_text(json_object_get(reply, "progress") != NULL
                         ? "{model}: {state}, {#progress.fits} of {#progress.of} fits\n"
                         : "{model}: {state}\n",
                     asked, reply);
    nb_exchange_text("{?reason}{reason}\n", asked, reply);
    if (json_object_get(reply, "weight") != NULL)
        print_found(asked, reply);
}

static const struct nb_exchange EM_FINDING = {
    .method = "POST",
    .path = "/v1/models/{model}/em",
    .print = print_em,
};

static const struct nb_exchange EM_SHOWING = {
    .method = "GET",
    .path = "/v1/models/{model}/em",
    .print = print_em,
};

static int run_em(struct nb_client *client, const void *user, char **arguments, size_t count,
                  struct nb_error *error)
{
    const struct em_options *options = user;
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    return nb_exchange_run(options->show ? &EM_SHOWING : &EM_FINDING, &asked, error);
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
    NB_COMMAND_FLAGS(EM_FLAGS, EM_DEFAULTS),
    .most = 1,
    .patience = 3600,
    .run = run_em,
};

/* bayesc rename-label and delete-label. A label is deleted in parts, so that no request takes long.
 */
enum {
    PART = 2000, /* most documents that one request deletes */
    RENAMED = 2,
    DELETED = 1 /* numbers of arguments without the name of the model */
};

struct label_options {
    const char *by;
    bool is_quiet, is_merged, is_sure;
    uint64_t part, next; /* for delete-label: documents of one request; where it goes on, 0: at the
                            beginning */
};

static const struct label_options LABEL_DEFAULTS = {.part = PART};

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

static const struct nb_flag DELETE_LABEL_FLAGS[] = {
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

static int put_name(const struct nb_exchange_input *asked, json_t *body, struct nb_error *error)
{
    return json_object_set_new(body, "name", json_string(asked->arguments[1])) == 0
               ? 0
               : nb_error_set(error, NB_INVALID, "the new name is not UTF-8");
}

static const struct nb_exchange RENAMING = {
    .method = "PATCH",
    .path = "/v1/models/{model}/labels/{0}",
    .query = {{"source", NB_FLAG_TEXT, offsetof(struct label_options, by), false}},
    .body = {{"merge", NB_FLAG_SWITCH, offsetof(struct label_options, is_merged), false}},
    .fill = put_name,
    .print = print_renamed,
};

/* ---- delete ---------------------------------------------------------------------------------- */

/* Asks the person for confirmation, unless the model does not have the label: then the request to
 * delete it is refused. */
static int confirm_label(const struct nb_exchange_input *asked, struct nb_error *error)
{
    const struct label_options *options = asked->options;
    const struct nb_client *client = asked->client;
    const char *label = asked->arguments[0];
    json_t *row = NULL;
    if (options->is_sure || options->next > 0) /* the person was asked before the first part */
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

static const struct nb_exchange DELETING_LABEL = {
    .method = "DELETE",
    .path = "/v1/models/{model}/labels/{0}",
    .query = {{"source", NB_FLAG_TEXT, offsetof(struct label_options, by), false},
              {"limit", NB_FLAG_COUNT, offsetof(struct label_options, part), false},
              {"next", NB_FLAG_COUNT, offsetof(struct label_options, next), true}},
    .before = confirm_label,
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
            rc = nb_exchange_ask(&DELETING_LABEL, &asked, &part, error);
        forgotten += nb_answer_number(part, "forgotten");
        options.next = nb_answer_number(part, "next");
        json_decref(part);
    } while (rc == 0 && options.next != 0);
    nb_call_close(&asked.call);
    if (rc != 0 || (options.is_quiet && !client->json))
        return rc;
    json_t *all = json_pack("{s:s, s:s, s:I}", "model", client->model, "label", arguments[0],
                            "forgotten", (json_int_t)forgotten);
    rc = all != NULL ? nb_exchange_show(&DELETING_LABEL, &asked, all, error)
                     : nb_error_no_memory(error);
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
    NB_COMMAND_FLAGS(RENAME_FLAGS, LABEL_DEFAULTS),
    .least = RENAMED,
    .most = RENAMED + 1,
    .patience = 300,
    .exchange = &RENAMING,
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
    NB_COMMAND_FLAGS(DELETE_LABEL_FLAGS, LABEL_DEFAULTS),
    .least = DELETED,
    .most = DELETED + 1,
    .patience = 300,
    .run = run_delete,
};
