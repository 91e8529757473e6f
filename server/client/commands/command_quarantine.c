/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc quarantine: lists the changes of sources without trust, shows how they agree with the
 * model, applies or drops them.
 */
#include <stdio.h>
#include <string.h>

#include "server/client/base/client_answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"
#include "server/client/evaluate/evaluation_report.h"
#include "server/client/terminal/table_rows.h"
#include "server/client/terminal/terminal.h"

struct quarantine_options {
    const char *source, *until;
    struct nb_flag_list ids;
    bool all;
};

static const struct quarantine_options DEFAULTS = {.all = false};

static const struct nb_flag FLAGS[] = {
    {"source", 0, NB_FLAG_TEXT, "NAME", offsetof(struct quarantine_options, source), 0, 0,
     "apply, drop: what this source has sent"},
    {"until", 0, NB_FLAG_TEXT, "TIME", offsetof(struct quarantine_options, until), 0, 0,
     "apply, drop: what came until this time; a list\nshows the time it is of"},
    {"id", 'i', NB_FLAG_LIST, "ID", offsetof(struct quarantine_options, ids), 0, 0,
     "apply, drop: the id of a document; may be repeated"},
    {"all", 0, NB_FLAG_SWITCH, NULL, offsetof(struct quarantine_options, all), 0, 0,
     "apply, drop: everything"},
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
    nb_table_rows_print(NB_COLUMNS(ROW_COLUMNS), json_object_get(page, "quarantine"));
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
    nb_exchange_text("{model}: {#documents} changes wait\n\n", asked, reply);
    nb_table_rows_print(NB_COLUMNS(SOURCE_COLUMNS), json_object_get(reply, "sources"));
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
    nb_exchange_text(is_drop ? "{model}: {#dropped} changes dropped\n" : "{model}: applied\n",
                     asked, reply);
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
    .arguments = "[list|effect|apply|drop]",
    .summary = "Shows, applies or drops what sources without trust have sent",
    .details =
        "list shows what waits, with the verdict that the model gives it now. effect sums that up\n"
        "for each source, and shows the evaluation with and without it. apply learns it, drop\n"
        "deletes it: what has this source, came until this time and has one of these ids, as far\n"
        "as they are given, or --all.\n",
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .most = 1,
    .patience = 60,
    .run = run_quarantine,
};
