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
#include "server/client/commands/exchange.h"
#include "server/client/evaluate/evaluation_report.h"

struct quarantine_options {
    const char *source, *until;
    struct nb_flag_list ids;
    bool all;
};

static const struct quarantine_options DEFAULTS = {.all = false};

static const struct nb_flag FLAGS[] = {
    {"source", 0, NB_FLAG_TEXT, offsetof(struct quarantine_options, source), 0, 0},
    {"until", 0, NB_FLAG_TEXT, offsetof(struct quarantine_options, until), 0, 0},
    {"id", 'i', NB_FLAG_LIST, offsetof(struct quarantine_options, ids), 0, 0},
    {"all", 0, NB_FLAG_SWITCH, offsetof(struct quarantine_options, all), 0, 0},
};

/* ---- list ------------------------------------------------------------------------------------ */

static void add_label(struct nb_text_table *table, const char *name, const json_t *row)
{
    bool untrain = json_is_true(json_object_get(row, "untrain"));
    (void)name;
    nb_table_cell(table, "%s", untrain ? "(untrain)" : nb_answer_text(row, "label"));
}

static const struct nb_table_column ROW_COLUMNS[] = {
    NB_COLUMN("id", "id", NB_CELL_TEXT, 0),
    NB_COLUMN("time", "time", NB_CELL_TEXT, 0),
    NB_COLUMN("source", "source", NB_CELL_TEXT, 0),
    {.head = "label", .add = add_label},
    NB_COLUMN("verdict", "verdict", NB_CELL_TEXT, 0),
    NB_COLUMN(">P(label)", "probability", NB_CELL_FIXED, 4),
};

static const struct nb_exchange LISTING = {.method = "GET",
                                           .path = "/v1/models/{model}/quarantine"};

/* The list shows the time of its first page. A change that came later may sort before the next page
 * and so be on no page. */
struct listed {
    bool is_json;
    char time[64];
};

/* Prints each page as soon as it arrives. */
static int print_page(void *user, json_t *page, struct nb_error *error)
{
    struct listed *listed = user;
    if (listed->is_json)
        return nb_answer_print(page, error);
    nb_table_rows_print(NB_COLUMNS(ROW_COLUMNS), json_object_get(page, "quarantine"), stdout);
    if (listed->time[0] == '\0')
        (void)snprintf(listed->time, sizeof listed->time, "%s", nb_answer_text(page, "time"));
    return 0;
}

static int list(const struct nb_exchange_input *asked, struct nb_error *error)
{
    struct listed listed = {.is_json = asked->client->json};
    int rc = nb_exchange_pages(&LISTING, asked, print_page, &listed, error);
    if (rc == 0 && !listed.is_json)
        (void)printf("as of %s\n", nb_shown(listed.time).text);
    return rc;
}

/* ---- effect ---------------------------------------------------------------------------------- */

static const struct nb_table_column SOURCE_COLUMNS[] = {
    NB_COLUMN("source", "@", NB_CELL_TEXT, 0),
    NB_COLUMN(">documents", "documents", NB_CELL_COUNT, 0),
    NB_COLUMN(">judged", "judged", NB_CELL_COUNT, 0),
    NB_COLUMN(">agreeing", "agreeing", NB_CELL_COUNT, 0),
    NB_COLUMN(">log_loss", "log_loss", NB_CELL_GENERAL, 4),
};

static void print_effect(const struct nb_exchange_input *asked, json_t *reply)
{
    nb_exchange_text("{model}: {documents change} in the quarantine\n\n", asked, reply);
    nb_table_rows_print(NB_COLUMNS(SOURCE_COLUMNS), json_object_get(reply, "sources"), stdout);
    nb_compare_print(json_object_get(reply, "evaluation"), "with");
}

static const struct nb_exchange EFFECT = {
    .method = "GET", .path = "/v1/models/{model}/quarantine/effect", .print = print_effect};

/* ---- apply and drop -------------------------------------------------------------------------- */

static void print_settled(const struct nb_exchange_input *asked, json_t *reply)
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

#define AT(member) offsetof(struct quarantine_options, member)
#define CHOICE                                                                                     \
    {"source", NB_FLAG_TEXT, AT(source), false}, {"until", NB_FLAG_TEXT, AT(until), false},        \
        {"ids", NB_FLAG_LIST, AT(ids), false},                                                     \
    {                                                                                              \
        "all", NB_FLAG_SWITCH, AT(all), false                                                      \
    }

static const struct nb_exchange APPLYING = {.method = "POST",
                                            .path = "/v1/models/{model}/quarantine/apply",
                                            .body = {CHOICE},
                                            .print = print_settled};

static const struct nb_exchange DROPPING = {.method = "POST",
                                            .path = "/v1/models/{model}/quarantine/drop",
                                            .body = {CHOICE},
                                            .print = print_settled};

/* ---------------------------------------------------------------------------------------------- */

static bool is_no_operation(const char *word)
{
    static const char *const OPERATIONS[] = {"list", "effect", "apply", "drop"};
    bool is = false;
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++)
        is = is || strcmp(word, OPERATIONS[i]) == 0;
    return !is;
}

static int run_quarantine(struct nb_client *client, const void *user, char **arguments,
                          size_t count, struct nb_error *error)
{
    const struct quarantine_options *options = user;
    const char *what = count > 0 ? arguments[0] : "list";
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    bool is_drop = strcmp(what, "drop") == 0;
    bool chooses = options->source != NULL || options->until != NULL || options->ids.count > 0;
    if (is_drop || strcmp(what, "apply") == 0) {
        if (chooses == options->all)
            return nb_error_set(error, NB_CLIENT_USAGE,
                                "%s needs --source, --until or --id, or else --all", what);
        return nb_exchange_run(is_drop ? &DROPPING : &APPLYING, &asked, error);
    }
    if (chooses || options->all)
        return nb_error_set(error, NB_CLIENT_USAGE, "these options are for apply and drop");
    if (strcmp(what, "list") == 0)
        return list(&asked, error);
    if (strcmp(what, "effect") == 0)
        return nb_exchange_run(&EFFECT, &asked, error);
    return nb_error_set(error, NB_CLIENT_USAGE, "'%s' is none of list, effect, apply, drop", what);
}

const struct nb_command NB_COMMAND_QUARANTINE = {
    .name = "quarantine",
    .model_from = 2,
    .is_model = is_no_operation,
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .most = 2,
    .patience = 60,
    .run = run_quarantine,
};

/* bayesc undo: takes back what was learned from a source, in a span of time, or from documents with
 * some ids. It sends requests for parts, each of which is atomic in the daemon, to show
 * progress. */
enum { PART = 2000 /* documents of one request */ };

struct undo_options {
    const char *source, *from, *to, *by;
    struct nb_flag_list ids;
    bool dry_run, is_quiet, is_sure;
};

static const struct undo_options UNDO_DEFAULTS = {.dry_run = false};

static const struct nb_flag UNDO_FLAGS[] = {
    {"source", 0, NB_FLAG_TEXT, offsetof(struct undo_options, source), 0, 0},
    {"from", 0, NB_FLAG_TEXT, offsetof(struct undo_options, from), 0, 0},
    {"to", 0, NB_FLAG_TEXT, offsetof(struct undo_options, to), 0, 0},
    {"id", 'i', NB_FLAG_LIST, offsetof(struct undo_options, ids), 0, 0},
    {"dry-run", 'n', NB_FLAG_SWITCH, offsetof(struct undo_options, dry_run), 0, 0},
    {"by", 0, NB_FLAG_TEXT, offsetof(struct undo_options, by), 0, 0},
    {"yes", 'y', NB_FLAG_SWITCH, offsetof(struct undo_options, is_sure), 0, 0},
    {"quiet", 'q', NB_FLAG_SWITCH, offsetof(struct undo_options, is_quiet), 0, 0},
};

/* ---- printing -------------------------------------------------------------------------------- */

static void print_result(const struct nb_exchange_input *asked, json_t *result)
{
    const struct undo_options *options = asked->options;
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

/* ---- requests -------------------------------------------------------------------------------- */

#define UNDO_AT(member) offsetof(struct undo_options, member)

static const struct nb_exchange UNDOING = {
    .method = "POST",
    .path = "/v1/models/{model}/undo",
    .query = {{"source", NB_FLAG_TEXT, UNDO_AT(by), false}},
    .body = {{"source", NB_FLAG_TEXT, UNDO_AT(source), false},
             {"from", NB_FLAG_TEXT, UNDO_AT(from), false},
             {"to", NB_FLAG_TEXT, UNDO_AT(to), false},
             {"ids", NB_FLAG_LIST, UNDO_AT(ids), false},
             {"dry_run", NB_FLAG_SWITCH, UNDO_AT(dry_run), false}},
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
static int ask_in_parts(const struct nb_exchange_input *asked, json_t *sum, struct nb_error *error)
{
    const struct undo_options *options = asked->options;
    struct nb_progress progress;
    int rc = 0;
    bool has_more = true;
    nb_progress_start(&progress, "taken back", 0);
    progress.is_shown = progress.is_shown && !options->is_quiet;
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
static int confirm(const struct nb_exchange_input *asked, struct nb_error *error)
{
    struct undo_options options = *(const struct undo_options *)asked->options;
    struct nb_exchange_input trial = *asked;
    json_t *reply = NULL;
    bool needs =
        !options.is_sure && (options.source != NULL || options.from != NULL || options.to != NULL);
    options.dry_run = true;
    trial.options = &options;
    trial.body = NULL;
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

static int run_undo(struct nb_client *client, const void *user, char **arguments, size_t count,
                    struct nb_error *error)
{
    const struct undo_options *options = user;
    struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    if (options->dry_run)
        return nb_exchange_run(&UNDOING, &asked, error);
    int rc = confirm(&asked, error);
    if (rc != 0)
        return rc;
    json_t *result = json_pack("{s:s, s:{}}", "model", client->model, "labels");
    asked.body = json_pack("{s:i}", "limit", PART);
    rc = asked.body != NULL ? nb_call_open(&client->daemon, &asked.call, error)
                            : nb_error_no_memory(error);
    if (rc == 0)
        rc = ask_in_parts(&asked, result, error);
    if (rc == 0)
        rc = nb_exchange_show(&UNDOING, &asked, result, error);
    nb_call_close(&asked.call);
    json_decref(asked.body);
    json_decref(result);
    return rc;
}

const struct nb_command NB_COMMAND_UNDO = {
    .name = "undo",
    .model_from = 1,
    .most = 1,
    NB_COMMAND_FLAGS(UNDO_FLAGS, UNDO_DEFAULTS),
    .patience = 300,
    .run = run_undo,
};
