/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc quarantine: lists the changes of sources without trust, shows how they agree with the
 * model, applies or drops them.
 */
#include <stdio.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/evaluate/evaluation_report.h"

/* ---- quarantine ------------------------------------------------------------------------------ */

/* The list shows the time of its first page. A change that came later may sort before the next page
 * and so be on no page. */
static void print_list(const struct nb_asked *asked, json_t *reply)
{
    json_t *rows = json_object_get(reply, "quarantine"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        if (json_is_true(json_object_get(row, "untrain")))
            (void)json_object_set_new(row, "label", json_string("(untrain)"));
    }
    nb_table_print_rows("id:t|time|source:t|label:t|verdict:t|>P(label)=probability:.4f", rows,
                        stdout);
    nb_exchange_text("as of {time}\n", asked, reply);
}

static const struct nb_exchange LISTING = {.method = "GET",
                                           .path = "/v1/models/{model}/quarantine",
                                           .rows = "quarantine",
                                           .is_listing = true,
                                           .print = print_list};

static void print_effect(const struct nb_asked *asked, json_t *reply)
{
    nb_exchange_text("{model}: {documents change} in the quarantine\n\n", asked, reply);
    nb_table_print_rows("source=@|>documents|>judged|>agreeing|>log_loss:.4g",
                        json_object_get(reply, "sources"), stdout);
    nb_compare_print(json_object_get(reply, "evaluation"), "with");
}

static const struct nb_exchange EFFECT = {
    .method = "GET", .path = "/v1/models/{model}/quarantine/effect", .print = print_effect};

static void print_settled(const struct nb_asked *asked, json_t *reply)
{
    const char *name;
    const json_t *count;
    bool is_drop = json_object_get(reply, "dropped") != NULL;
    nb_exchange_text(is_drop ? "{model}: {dropped change} dropped\n" : "{model}: applied\n", asked,
                     reply);
    json_object_foreach(json_object_get(reply, "applied"), name, count)
    {
        if (json_integer_value(count) > 0)
            (void)printf("  %s %s\n", nb_figure_of((uint64_t)json_integer_value(count)).text,
                         nb_shown(name).text);
    }

    nb_exchange_text("{?refused}  {#refused} could not be made and still wait: {why}\n"
                     "{?changed_since}  {#changed_since} were changed meanwhile\n",
                     asked, reply);
}

static int check_choice(const struct nb_asked *asked, struct nb_error *error)
{
    const struct nb_command_options *options = asked->options;
    bool chooses = options->source != NULL || options->until != NULL || options->ids.count > 0;
    return chooses != options->all
               ? 0
               : nb_error_set(error, NB_CLIENT_USAGE,
                              "say which with --source, --until or --id, or else --all");
}

#define CHOICE "source", "until", "ids=id", "all"

static const struct nb_exchange APPLYING = {.method = "POST",
                                            .path = "/v1/models/{model}/quarantine/apply",
                                            .body = {CHOICE},
                                            .before = check_choice,
                                            .print = print_settled};

static const struct nb_exchange DROPPING = {.method = "POST",
                                            .path = "/v1/models/{model}/quarantine/drop",
                                            .body = {CHOICE},
                                            .before = check_choice,
                                            .print = print_settled};

static const struct nb_subcommand VERBS[] = {
    {"list", "", 0, 0, "", &LISTING, NULL},
    {"effect", "", 0, 0, "", &EFFECT, NULL},
    {"apply", "", 0, 0, "source until id all", &APPLYING, NULL},
    {"drop", "", 0, 0, "source until id all", &DROPPING, NULL},
};

static const struct nb_flag FLAGS[] = {NB_SOURCE_FLAG, NB_TEXT("until", 0, until), NB_ID_FLAG,
                                       NB_SWITCH("all", 0, all)};

const struct nb_command NB_COMMAND_QUARANTINE = {
    .name = "quarantine",
    .model_from = 2,
    NB_FLAGS(FLAGS),
    NB_VERBS(VERBS),
    .most = 2,
    .patience = 60,
};

/* ---- undo ------------------------------------------------------------------------------------ */

/* bayesc undo: takes back what was learned from a source, in a span of time, or from documents with
 * some ids. It sends requests for parts, each of which is atomic in the daemon, to show
 * progress. */
enum { PART = 2000 /* documents of one request */ };

static void print_result(const struct nb_asked *asked, json_t *result)
{
    const struct nb_command_options *options = asked->options;
    const char *label;
    const json_t *row;
    if (options->is_quiet)
        return;
    nb_exchange_text(options->dry_run ? "{model}: {documents document} would be taken back"
                                      : "{model}: {documents document} taken back",
                     asked, result);
    nb_exchange_text(" ({#forgotten} forgotten, {#restored} as they were before)\n", asked, result);
    json_object_foreach(json_object_get(result, "labels"), label, row)
    {
        (void)printf("  %s of %s\n", nb_figure_of(nb_answer_number(row, "documents")).text,
                     nb_shown(label).text);
    }

    nb_exchange_text("{?unknown_before}  {#unknown_before} of the forgotten ones had an earlier "
                     "state that is not kept any more\n"
                     "{?changed_since}  {#changed_since} were changed meanwhile and stay\n",
                     asked, result);
    if (options->dry_run)
        nb_compare_print(json_object_get(result, "evaluation"), "without");
}

static const struct nb_exchange UNDOING = {
    .method = "POST",
    .path = "/v1/models/{model}/undo",
    .query = {"source=by"},
    .body = {"source", "from", "to", "ids=id", "dry_run=dry-run"},
    .print = print_result,
};

static const char *const COUNTS[] = {"documents", "forgotten", "restored", "unknown_before",
                                     "changed_since"};

/* Adds the counts of a part to those of all parts. */
static void add_part(json_t *sum, const json_t *part)
{
    const char *label;
    const json_t *row;
    json_t *labels = json_object_get(sum, "labels");
    for (size_t i = 0; i < sizeof COUNTS / sizeof COUNTS[0]; i++)
        (void)json_object_set_new(sum, COUNTS[i],
                                  json_integer((json_int_t)nb_answer_number(sum, COUNTS[i]) +
                                               (json_int_t)nb_answer_number(part, COUNTS[i])));
    json_object_foreach(json_object_get(part, "labels"), label, row)
    {
        uint64_t before = nb_answer_number(json_object_get(labels, label), "documents");
        json_int_t all = (json_int_t)before + (json_int_t)nb_answer_number(row, "documents");
        (void)json_object_set_new(labels, label, json_pack("{s:I}", "documents", all));
    }
}

/* Requests all parts; *sum is the reply that a single request for all documents would have got. */
static int ask_in_parts(const struct nb_asked *asked, json_t *sum, struct nb_error *error)
{
    struct nb_progress progress;
    int rc = 0;
    bool has_more = true;
    nb_progress_start(&progress, "taken back", 0);
    progress.is_shown = progress.is_shown && !asked->options->is_quiet;
    while (rc == 0 && has_more) {
        json_t *part = NULL;
        rc = nb_exchange_ask(&UNDOING, asked, &part, error);
        has_more = json_object_get(part, "next") != NULL;
        if (rc == 0)
            add_part(sum, part);
        if (has_more)
            (void)json_object_set(asked->body, "next", json_object_get(part, "next"));
        for (uint64_t i = nb_answer_number(part, "documents"); rc == 0 && i > 0; i--)
            nb_progress_add(&progress, 0);
        json_decref(part);
    }
    nb_progress_end(&progress);
    return rc;
}

/* Asks the person for confirmation, with the number of documents; not when they are named by their
 * ids. */
static int confirm(const struct nb_asked *asked, struct nb_error *error)
{
    struct nb_command_options options = *asked->options;
    struct nb_asked trial = *asked;
    json_t *reply = NULL;
    bool needs =
        !options.is_sure && (options.source != NULL || options.from != NULL || options.to != NULL);
    options.dry_run = true;
    trial.options = &options;
    int rc = needs && nb_ask_is_possible() ? nb_exchange_ask(&UNDOING, &trial, &reply, error) : 0;
    bool has_none = reply != NULL && nb_answer_number(reply, "documents") == 0;
    if (rc == 0 && needs && !has_none)
        rc = nb_exchange_confirm(false, "what a source or a span of time has taught is taken back",
                                 "taken back", error, "Take back %s of the model %s?",
                                 nb_counted(nb_answer_number(reply, "documents"), "document").text,
                                 asked->client->model);
    json_decref(reply);
    return rc;
}

static int run_undo(struct nb_asked *asked, struct nb_error *error)
{
    if (asked->options->dry_run)
        return nb_exchange_run(&UNDOING, asked, error);
    int rc = confirm(asked, error);
    if (rc != 0)
        return rc;
    json_t *result = json_pack("{s:s, s:{}}", "model", asked->client->model, "labels");
    asked->body = json_pack("{s:i}", "limit", PART);
    rc = asked->body != NULL ? nb_call_open(&asked->client->daemon, &asked->call, error)
                             : nb_error_no_memory(error);
    if (rc == 0)
        rc = ask_in_parts(asked, result, error);
    if (rc == 0)
        rc = nb_exchange_show(&UNDOING, asked, result, error);
    nb_call_close(&asked->call);
    json_decref(asked->body);
    json_decref(result);
    return rc;
}

static const struct nb_flag UNDO_FLAGS[] = {
    NB_SOURCE_FLAG, NB_TEXT("from", 0, from),           NB_TEXT("to", 0, to), NB_ID_FLAG,
    NB_BY_FLAG,     NB_SWITCH("dry-run", 'n', dry_run), NB_YES_FLAG,          NB_QUIET_FLAG,
};

const struct nb_command NB_COMMAND_UNDO = {
    .name = "undo",
    .model_from = 1,
    .most = 1,
    NB_FLAGS(UNDO_FLAGS),
    .patience = 300,
    .run = run_undo,
};
