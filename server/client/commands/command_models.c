/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc models, status, delete, derive, refit and em: models as a whole.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
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
        (void)nb_buffer_printf(&text, "%s%s %s", text.length > 0 ? ", " : "", name,
                               nb_figure_of(nb_answer_number(counts, "documents")).text);
    }
    nb_table_cell(table, "%.*s", (int)text.length, text.length > 0 ? text.bytes : "");
    nb_buffer_deinit(&text);
}

static const struct nb_table_column MODEL_COLUMNS[] = {
    NB_COLUMN("model", "name", NB_CELL_TEXT, 0),
    NB_COLUMN(">documents", "documents", NB_CELL_NUMBER, 0),
    NB_COLUMN(">vocabulary", "vocabulary", NB_CELL_NUMBER, 0),
    {.head = "labels", .add = add_labels},
};

static int run_models(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    json_t *models = json_array(), *all = json_pack("{s:o}", "models", models);
    int rc = nb_exchange_all(&LISTING, &asked, "models", models, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(all, error);
    else if (rc == 0)
        nb_table_rows_print(NB_COLUMNS(MODEL_COLUMNS), models, stdout);
    json_decref(all);
    return rc;
}

const struct nb_command NB_COMMAND_MODELS = {
    .name = "models",
    .unused = NB_UNUSED_MODEL,
    .patience = 10,
    .run = run_models,
};

/* ---- status ---------------------------------------------------------------------------------- */

enum {
    FEW = 10,             /* documents of a label; below that verdicts mean little */
    SHOWN_MOST = 20,      /* models and remarks */
    ROOM_LEAST = 64 << 20 /* bytes of a disk that is nearly full */
};

struct attention {
    json_t *remarks; /* owned: texts */
    size_t untaught; /* models that lack documents beyond those that are named */
};

static void remark(struct attention *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void remark(struct attention *a, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct nb_shown shown = nb_shown(text);
    (void)json_array_append_new(a->remarks, json_string(shown.text));
}

/* Remarks on a model that lacks documents. */
static void look_at_model(struct attention *a, const json_t *model)
{
    const char *name = nb_answer_text(model, "name"), *label, *rare = NULL, *only = NULL;
    const json_t *counts;
    size_t labels = 0;
    uint64_t least = FEW;
    json_object_foreach(json_object_get(model, "labels"), label, counts)
    {
        uint64_t documents = nb_answer_number(counts, "documents");
        if (documents == 0)
            continue;
        labels++;
        only = label;
        rare = documents < least ? label : rare;
        least = documents < least ? documents : least;
    }
    if (json_object_get(model, "state") != NULL) {
        remark(a, "%s is %s: %s", name, nb_answer_text(model, "state"),
               nb_answer_text(model, "reason"));
    } else if (labels >= 2 && rare == NULL) {
        return;
    } else if (json_array_size(a->remarks) >= SHOWN_MOST) {
        a->untaught++;
    } else if (labels == 0) {
        remark(a, "%s has no documents yet", name);
    } else if (labels == 1) {
        remark(a, "%s knows one label only, %s", name, only);
    } else {
        remark(a, "%s: the label %s has %s; %d of each label are a beginning", name, rare,
               nb_counted(least, "document").text, FEW);
    }
}

/* Returns a figure of the daemon's metrics; below 0: it is not there. */
static double metric(const struct nb_buffer *text, const char *name)
{
    char line[64];
    int length = snprintf(line, sizeof line, "\n%s ", name);
    const char *at =
        text->length > 0 ? memmem(text->bytes, text->length, line, (size_t)length) : NULL;
    return at != NULL ? strtod(at + length, NULL) : -1;
}

/* Remarks on the disk. A token for some models may not read the metrics. */
static void look_at_disk(struct attention *a, const struct nb_client *client)
{
    const struct nb_call_request request = {.method = "GET", .path = "/metrics"};
    struct nb_buffer text = {0};
    struct nb_call *call = NULL;
    struct nb_error ignored;
    if (nb_call_open(&client->daemon, &call, &ignored) == 0 &&
        nb_call_make(call, &request, &text, &ignored) == 0 && nb_buffer_append(&text, "", 1) == 0) {
        double failures = metric(&text, "bayesd_commit_failures_total");
        double left = metric(&text, "bayesd_disk_free_bytes");
        if (failures > 0)
            remark(a, "%s to the disk failed since the start: is it full?",
                   nb_counted((uint64_t)failures, "write").text);
        if (left >= 0 && left < ROOM_LEAST)
            remark(a, "%.0f MB are free on the disk of the models: a full disk stops learning",
                   left / 1e6);
    }
    nb_call_close(&call);
    nb_buffer_deinit(&text);
}

static void print_status(const struct nb_client *client, const json_t *models,
                         const struct attention *a)
{
    size_t i;
    const json_t *row;
    uint64_t documents = 0;
    json_array_foreach(models, i, row)
    {
        documents += nb_answer_number(row, "documents");
    }
    (void)printf("%s is ready: %s", nb_shown(client->daemon.url).text,
                 nb_counted(json_array_size(models), "model").text);
    (void)printf(", %s\n", nb_counted(documents, "document").text);
    if (i > 0 && i <= SHOWN_MOST)
        nb_table_rows_print(NB_COLUMNS(MODEL_COLUMNS), models, stdout);
    (void)puts(json_array_size(a->remarks) > 0 ? "needs attention:" : "nothing needs attention");
    json_array_foreach(a->remarks, i, row)
    {
        (void)fputs("  ", stdout);
        nb_terminal_wrap(json_string_value(row), 2, 2, stdout);
    }
    if (a->untaught > 0)
        (void)printf("  %s without enough documents\n",
                     nb_counted(a->untaught, "other model").text);
}

static int run_status(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    static const struct nb_exchange READY = {.method = "GET", .path = "/readyz"};
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    struct attention a = {.remarks = json_array()};
    json_t *models = json_array(), *ready = NULL, *all;
    const json_t *row;
    size_t i;
    int rc = nb_exchange_ask(&READY, &asked, &ready, error);
    if (rc == 0)
        rc = nb_exchange_all(&LISTING, &asked, "models", models, error);
    if (rc == 0 && *nb_answer_text(ready, "warning") != '\0')
        remark(&a, "%s", nb_answer_text(ready, "warning"));
    if (rc == 0)
        look_at_disk(&a, client);
    json_array_foreach(models, i, row)
    {
        look_at_model(&a, row);
    }
    all =
        json_pack("{s:s*, s:O, s:O}", "status", json_string_value(json_object_get(ready, "status")),
                  "models", models, "attention", a.remarks);
    if (rc == 0 && client->json)
        rc = all != NULL ? nb_answer_print(all, error) : nb_error_no_memory(error);
    else if (rc == 0)
        print_status(client, models, &a);
    json_decref(all);
    json_decref(ready);
    json_decref(models);
    json_decref(a.remarks);
    return rc;
}

const struct nb_command NB_COMMAND_STATUS = {
    .name = "status",
    .unused = NB_UNUSED_MODEL,
    .run = run_status,
};

/* ---- delete ---------------------------------------------------------------------------------- */

struct delete_options {
    const char *source;
    bool is_sure;
};

static const struct delete_options DELETE_DEFAULTS = {.source = NULL};

static const struct nb_flag DELETE_FLAGS[] = {
    {"yes", 'y', NB_FLAG_SWITCH, offsetof(struct delete_options, is_sure), 0, 0},
    NB_SOURCE_FLAG(struct delete_options),
};

/* Asks the person for confirmation. A damaged model has no figures. */
static int confirm(const struct nb_exchange_input *asked, struct nb_error *error)
{
    const struct nb_client *client = asked->client;
    const struct delete_options *options = asked->options;
    json_t *row = NULL;
    bool asks = !options->is_sure && nb_ask_is_possible();
    int rc = asks ? nb_answer_get(client, "", &row, error) : 0;
    if (rc == NB_NOT_FOUND)
        return rc;
    struct nb_figure documents = nb_counted(nb_answer_number(row, "documents"), "document");
    json_decref(row);
    return nb_exchange_confirm(options->is_sure, "a model is deleted for good", "deleted", error,
                               "Delete the model %s with its %s for good?", client->model,
                               rc == 0 ? documents.text : "documents, which cannot be read,");
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
    .model_from = 1,
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
    {"strength", 's', NB_FLAG_COUNT, offsetof(struct derive_options, strength), 1, 1e9},
};

static void print_derived(const struct nb_exchange_input *asked, json_t *row)
{
    const struct derive_options *options = asked->options;
    nb_exchange_text(options->strength > 0 ? "{1}: its prior is {settings.parent}, a copy of {0}\n"
                                           : "{1}: begins with {documents document} of {0}\n",
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
    .unused = NB_UNUSED_MODEL,
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
    .text = "{model}: the weights fit {documents document}\n",
};

const struct nb_command NB_COMMAND_REFIT = {
    .name = "refit",
    .model_from = 1,
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
    {"show", 0, NB_FLAG_SWITCH, offsetof(struct em_options, show), 0, 0},
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
    nb_exchange_text("{?changed}changed since: {changed document}\n", asked, reply);
    if (nb_answer_number(reply, "measured") == 0)
        return;
    bool are_single = nb_answer_number(reply, "measured") == nb_answer_number(reply, "folds");
    (void)printf("%s left out, %s:\n",
                 nb_counted(nb_answer_number(reply, "measured"), "document").text,
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
    .model_from = 1,
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
    {"by", 0, NB_FLAG_TEXT, offsetof(struct label_options, by), 0, 0},                   \
    {"quiet", 'q', NB_FLAG_SWITCH, offsetof(struct label_options, is_quiet), 0, 0}
/* clang-format on */

static const struct nb_flag RENAME_FLAGS[] = {
    {"merge", 0, NB_FLAG_SWITCH, offsetof(struct label_options, is_merged), 0, 0},
    COMMON_FLAGS,
};

static const struct nb_flag DELETE_LABEL_FLAGS[] = {
    {"yes", 'y', NB_FLAG_SWITCH, offsetof(struct label_options, is_sure), 0, 0},
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
    json_t *row = NULL;
    bool is_sure = options->is_sure || options->next > 0; /* asked before the first part */
    int rc = !is_sure && nb_ask_is_possible() ? nb_answer_get(asked->client, "", &row, error) : 0;
    const json_t *known = json_object_get(json_object_get(row, "labels"), asked->arguments[0]);
    if (rc == 0 && (row == NULL || known != NULL))
        rc = nb_exchange_confirm(is_sure, "documents are forgotten for good", "forgotten", error,
                                 "Forget the %s of the label %s of the model %s for good?",
                                 nb_counted(nb_answer_number(known, "documents"), "document").text,
                                 asked->arguments[0], asked->client->model);
    json_decref(row);
    return rc;
}

static void print_forgotten(const struct nb_exchange_input *asked, json_t *reply)
{
    bool is_one = nb_answer_number(reply, "forgotten") == 1;
    nb_exchange_text("{model}: {forgotten document} of the label {label} ", asked, reply);
    (void)puts(is_one ? "is forgotten" : "are forgotten");
}

static const struct nb_exchange DELETING_LABEL = {
    .method = "DELETE",
    .path = "/v1/models/{model}/labels/{0}",
    .query = {{"source", NB_FLAG_TEXT, offsetof(struct label_options, by), false},
              {"limit", NB_FLAG_COUNT, offsetof(struct label_options, part), false},
              {"next", NB_FLAG_COUNT, offsetof(struct label_options, next), true}},
    .before = confirm_label,
    .print = print_forgotten,
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
    .model_from = 3,
    NB_COMMAND_FLAGS(RENAME_FLAGS, LABEL_DEFAULTS),
    .least = RENAMED,
    .most = RENAMED + 1,
    .patience = 300,
    .exchange = &RENAMING,
};

const struct nb_command NB_COMMAND_DELETE_LABEL = {
    .name = "delete-label",
    .model_from = 2,
    NB_COMMAND_FLAGS(DELETE_LABEL_FLAGS, LABEL_DEFAULTS),
    .least = DELETED,
    .most = DELETED + 1,
    .patience = 300,
    .run = run_delete,
};
