/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc models, status, delete, derive, refit, em, rename-label and delete-label: models as a
 * whole, and their labels.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"

/* ---- models ---------------------------------------------------------------------------------- */

/* Sets the member "known" of each model: "ham 12, spam 3", or the damage of a damaged model. */
static void sum_up_labels(json_t *models)
{
    struct nb_buffer text = {0};
    const char *name;
    json_t *model;
    const json_t *counts;
    size_t i;
    json_array_foreach(models, i, model)
    {
        bool is_damaged = json_object_get(model, "state") != NULL;
        text.length = 0;
        if (is_damaged)
            (void)nb_buffer_printf(&text, "%s: %s", nb_answer_text(model, "state"),
                                   nb_answer_text(model, "reason"));
        json_object_foreach(json_object_get(model, "labels"), name, counts)
        {
            if (!is_damaged)
                (void)nb_buffer_printf(&text, "%s%s %s", text.length > 0 ? ", " : "", name,
                                       nb_figure_of(nb_answer_number(counts, "documents")).text);
        }
        (void)json_object_set_new(model, "known", json_stringn(text.bytes, text.length));
    }
    nb_buffer_deinit(&text);
}

static void print_models(const struct nb_asked *asked, json_t *reply)
{
    json_t *models = json_object_get(reply, "models");
    (void)asked;
    sum_up_labels(models);
    nb_table_print_rows("model=name|>documents|>vocabulary|labels=known:t", models, stdout);
}

static const struct nb_exchange LISTING = {.method = "GET",
                                           .path = "/v1/models",
                                           .rows = "models",
                                           .is_listing = true,
                                           .print = print_models};

const struct nb_command NB_COMMAND_MODELS = {
    .name = "models",
    .unused = NB_UNUSED_MODEL,
    .patience = 10,
    .exchange = &LISTING,
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

/* Remarks on models of an older version that are computed anew; NULL: there are none. */
static void look_at_upgrade(struct attention *a, const json_t *upgrade)
{
    if (upgrade != NULL)
        remark(a,
               "models of an older version are computed anew: %s to go, %s of %s entries are done",
               nb_counted(nb_answer_number(upgrade, "models_left"), "model").text,
               nb_figure_of(nb_answer_number(upgrade, "entries_done")).text,
               nb_figure_of(nb_answer_number(upgrade, "entries")).text);
}

static void print_status(const struct nb_asked *asked, json_t *all, const struct attention *a)
{
    size_t i;
    const json_t *row, *models = json_object_get(all, "models");
    uint64_t documents = 0;
    json_array_foreach(models, i, row)
    {
        documents += nb_answer_number(row, "documents");
    }
    (void)printf("%s is ready: %s", nb_shown(asked->client->daemon.url).text,
                 nb_counted(i, "model").text);
    (void)printf(", %s\n", nb_counted(documents, "document").text);
    if (i > 0 && i <= SHOWN_MOST)
        print_models(asked, all);
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

static int run_status(struct nb_asked *asked, struct nb_error *error)
{
    static const struct nb_exchange READY = {.method = "GET", .path = "/readyz"};
    struct attention a = {.remarks = json_array()};
    json_t *ready = NULL, *all = NULL;
    const json_t *row;
    size_t i;
    int rc = nb_exchange_ask(&READY, asked, &ready, error);
    if (rc == 0)
        rc = nb_exchange_ask(&LISTING, asked, &all, error);
    if (rc == 0 && *nb_answer_text(ready, "warning") != '\0')
        remark(&a, "%s", nb_answer_text(ready, "warning"));
    if (rc == 0)
        look_at_upgrade(&a, json_object_get(ready, "upgrade"));
    if (rc == 0)
        look_at_disk(&a, asked->client);
    json_array_foreach(json_object_get(all, "models"), i, row)
    {
        look_at_model(&a, row);
    }
    json_t *told =
        json_pack("{s:s*, s:O, s:O}", "status", json_string_value(json_object_get(ready, "status")),
                  "models", json_object_get(all, "models"), "attention", a.remarks);
    if (rc == 0 && asked->client->json)
        rc = told != NULL ? nb_answer_print(told, error) : nb_error_no_memory(error);
    else if (rc == 0)
        print_status(asked, all, &a);
    json_decref(told);
    json_decref(all);
    json_decref(ready);
    json_decref(a.remarks);
    return rc;
}

const struct nb_command NB_COMMAND_STATUS = {
    .name = "status",
    .unused = NB_UNUSED_MODEL,
    .run = run_status,
};

/* ---- delete ---------------------------------------------------------------------------------- */

/* Asks the person for confirmation. A damaged model has no figures. */
static int confirm(const struct nb_asked *asked, struct nb_error *error)
{
    json_t *row = NULL;
    bool is_sure = asked->options->is_sure, asks = !is_sure && nb_ask_is_possible();
    int rc = asks ? nb_model_get(asked->client, &row, error) : 0;
    if (rc == NB_NOT_FOUND)
        return rc;
    struct nb_figure documents = nb_counted(nb_answer_number(row, "documents"), "document");
    json_decref(row);
    return nb_exchange_confirm(is_sure, "a model is deleted for good", "deleted", error,
                               "Delete the model %s with its %s for good?", asked->client->model,
                               rc == 0 ? documents.text : "documents, which cannot be read,");
}

static const struct nb_flag DELETE_FLAGS[] = {NB_YES_FLAG, NB_SOURCE_FLAG};

const struct nb_command NB_COMMAND_DELETE = {
    .name = "delete",
    .model_from = 1,
    NB_FLAGS(DELETE_FLAGS),
    .least = 1,
    .most = 1,
    .patience = 60,
    .exchange = &(const struct nb_exchange){.method = "DELETE",
                                            .path = "/v1/models/{model}",
                                            .query = {"source"},
                                            .before = confirm,
                                            .text = "{model}: deleted\n"},
};

/* ---- derive and refit ------------------------------------------------------------------------ */

static void print_derived(const struct nb_asked *asked, json_t *row)
{
    nb_exchange_text(asked->options->strength > 0
                         ? "{1}: its prior is {settings.parent}, a copy of {0}\n"
                         : "{1}: begins with {documents document} of {0}\n",
                     asked, row);
}

static const struct nb_flag DERIVE_FLAGS[] = {NB_COUNT("strength", 's', strength, 0, 1, 1e9)};

const struct nb_command NB_COMMAND_DERIVE = {
    .name = "derive",
    .unused = NB_UNUSED_MODEL,
    NB_FLAGS(DERIVE_FLAGS),
    .least = 2,
    .most = 2,
    .patience = 3600,
    .exchange = &(const struct nb_exchange){.method = "POST",
                                            .path = "/v1/models/{1}/from/{0}",
                                            .query = {"strength"},
                                            .print = print_derived},
};

const struct nb_command NB_COMMAND_REFIT = {
    .name = "refit",
    .model_from = 1,
    .most = 1,
    .patience = 3600,
    .exchange =
        &(const struct nb_exchange){.method = "POST",
                                    .path = "/v1/models/{model}/refit",
                                    .text = "{model}: the weights fit {documents document}\n"},
};

/* ---- em -------------------------------------------------------------------------------------- */

static void print_loss(const json_t *reply, const char *name)
{
    const json_t *loss = json_object_get(reply, name);
    (void)printf("%-8s %5.1f %% right, log-loss %.4f\n", name,
                 100 * json_number_value(json_object_get(loss, "accuracy")),
                 json_number_value(json_object_get(loss, "log_loss")));
}

static void print_em(const struct nb_asked *asked, json_t *reply)
{
    uint64_t measured = nb_answer_number(reply, "measured");
    nb_exchange_text("{model}: {state}", asked, reply);
    nb_exchange_text(json_object_get(reply, "progress") != NULL
                         ? ", {#progress.fits} of {#progress.of} fits\n{?reason}{reason}\n"
                         : "\n{?reason}{reason}\n",
                     asked, reply);
    if (json_object_get(reply, "weight") == NULL)
        return;
    (void)printf("a document without a label weighs %g, of %s\n",
                 json_number_value(json_object_get(reply, "weight")),
                 nb_figure_of(nb_answer_number(reply, "documents")).text);
    if (json_object_get(reply, "share") != NULL)
        (void)printf("%g %% of a verdict is what is said with them\n",
                     100 * json_number_value(json_object_get(reply, "share")));
    nb_exchange_text("{?changed}changed since: {changed document}\n", asked, reply);
    if (measured == 0)
        return;
    (void)printf("%s left out, %s:\n", nb_counted(measured, "document").text,
                 measured == nb_answer_number(reply, "folds") ? "each alone" : "in folds");
    print_loss(reply, "without");
    print_loss(reply, "with");
}

static int run_em(struct nb_asked *asked, struct nb_error *error)
{
    const struct nb_exchange exchange = {.method = asked->options->show ? "GET" : "POST",
                                         .path = "/v1/models/{model}/em",
                                         .print = print_em};
    return nb_exchange_run(&exchange, asked, error);
}

static const struct nb_flag EM_FLAGS[] = {NB_SWITCH("show", 0, show)};

const struct nb_command NB_COMMAND_EM = {
    .name = "em",
    .model_from = 1,
    NB_FLAGS(EM_FLAGS),
    .most = 1,
    .patience = 3600,
    .run = run_em,
};

/* ---- rename-label ---------------------------------------------------------------------------- */

static void print_renamed(const struct nb_asked *asked, json_t *row)
{
    if (!asked->options->is_quiet)
        nb_exchange_text(asked->options->is_merged ? "{model}: what had the label {0} is {1} now\n"
                                                   : "{model}: the label {0} is {1} now\n",
                         asked, row);
}

static int put_name(const struct nb_asked *asked, json_t *body, struct nb_error *error)
{
    return json_object_set_new(body, "name", json_string(asked->arguments[1])) == 0
               ? 0
               : nb_error_set(error, NB_INVALID, "the new name is not UTF-8");
}

static const struct nb_flag RENAME_FLAGS[] = {NB_SWITCH("merge", 0, is_merged), NB_BY_FLAG,
                                              NB_QUIET_FLAG};

const struct nb_command NB_COMMAND_RENAME_LABEL = {
    .name = "rename-label",
    .model_from = 3,
    NB_FLAGS(RENAME_FLAGS),
    .least = 2,
    .most = 3,
    .patience = 300,
    .exchange = &(const struct nb_exchange){.method = "PATCH",
                                            .path = "/v1/models/{model}/labels/{0}",
                                            .query = {"source=by"},
                                            .body = {"merge"},
                                            .fill = put_name,
                                            .print = print_renamed},
};

/* ---- delete-label ---------------------------------------------------------------------------- */

/* Asks the person for confirmation, unless the model does not have the label: then the request to
 * delete it is refused. */
static int confirm_label(const struct nb_asked *asked, struct nb_error *error)
{
    json_t *row = NULL;
    bool is_sure = asked->options->is_sure, asks = !is_sure && nb_ask_is_possible();
    int rc = asks ? nb_model_get(asked->client, &row, error) : 0;
    const json_t *known = json_object_get(json_object_get(row, "labels"), asked->arguments[0]);
    if (rc == 0 && (row == NULL || known != NULL))
        rc = nb_exchange_confirm(is_sure, "documents are forgotten for good", "forgotten", error,
                                 "Forget the %s of the label %s of the model %s for good?",
                                 nb_counted(nb_answer_number(known, "documents"), "document").text,
                                 asked->arguments[0], asked->client->model);
    json_decref(row);
    return rc;
}

static void print_forgotten(const struct nb_asked *asked, json_t *reply)
{
    bool is_one = nb_answer_number(reply, "forgotten") == 1;
    if (asked->options->is_quiet)
        return;
    nb_exchange_text("{model}: {forgotten document} of the label {label} ", asked, reply);
    (void)puts(is_one ? "is forgotten" : "are forgotten");
}

/* A label is deleted in parts, so that no request takes long. */
static const struct nb_exchange DELETING_LABEL = {
    .method = "DELETE",
    .path = "/v1/models/{model}/labels/{0}?limit=2000",
    .query = {"source=by"},
    .print = print_forgotten,
};

/* Deletes the label part by part, and prints one reply with the totals of all parts. */
static int run_delete_label(struct nb_asked *asked, struct nb_error *error)
{
    uint64_t forgotten = 0, next = 0;
    char text[24];
    int rc = confirm_label(asked, error);
    if (rc == 0)
        rc = nb_call_open(&asked->client->daemon, &asked->call, error);
    asked->more[0].name = "next";
    do {
        json_t *part = NULL;
        if (rc == 0)
            rc = nb_exchange_ask(&DELETING_LABEL, asked, &part, error);
        forgotten += nb_answer_number(part, "forgotten");
        next = nb_answer_number(part, "next");
        json_decref(part);
        (void)snprintf(text, sizeof text, "%ju", (uintmax_t)next);
        asked->more[0].value = text;
    } while (rc == 0 && next != 0);
    nb_call_close(&asked->call);
    if (rc != 0)
        return rc;
    json_t *all = json_pack("{s:s, s:s, s:I}", "model", asked->client->model, "label",
                            asked->arguments[0], "forgotten", (json_int_t)forgotten);
    rc = all != NULL ? nb_exchange_show(&DELETING_LABEL, asked, all, error)
                     : nb_error_no_memory(error);
    json_decref(all);
    return rc;
}

static const struct nb_flag DELETE_LABEL_FLAGS[] = {NB_YES_FLAG, NB_BY_FLAG, NB_QUIET_FLAG};

const struct nb_command NB_COMMAND_DELETE_LABEL = {
    .name = "delete-label",
    .model_from = 2,
    NB_FLAGS(DELETE_LABEL_FLAGS),
    .least = 1,
    .most = 2,
    .patience = 300,
    .run = run_delete_label,
};
