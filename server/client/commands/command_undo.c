/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc undo: takes back what was learned from a source, in a span of time, or from documents with
 * some ids. It sends requests for parts, each of which is atomic in the daemon, to show
 * progress.
 */
#include <stdio.h>

#include "server/client/base/client_answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"
#include "server/client/evaluate/evaluation_report.h"
#include "server/client/terminal/progress.h"
#include "server/client/terminal/terminal.h"

enum { PART = 2000 /* documents of one request */ };

struct undo_options {
    const char *source, *from, *to, *by;
    struct nb_flag_list ids;
    bool dry_run, is_quiet;
};

static const struct undo_options DEFAULTS = {.dry_run = false};

static const struct nb_flag FLAGS[] = {
    {"source", 0, NB_FLAG_TEXT, "NAME", offsetof(struct undo_options, source), 0, 0,
     "what this source has changed"},
    {"from", 0, NB_FLAG_TEXT, "TIME", offsetof(struct undo_options, from), 0, 0,
     "what was changed from this time on: 2026-05-01, or 2026-05-01T12:00:00Z"},
    {"to", 0, NB_FLAG_TEXT, "TIME", offsetof(struct undo_options, to), 0, 0,
     "what was changed before this time"},
    {"id", 'i', NB_FLAG_LIST, "ID", offsetof(struct undo_options, ids), 0, 0,
     "the id of a document; may be repeated"},
    {"dry-run", 'n', NB_FLAG_SWITCH, NULL, offsetof(struct undo_options, dry_run), 0, 0,
     "change nothing; show what would be taken back, and the evaluation without it"},
    {"by", 0, NB_FLAG_TEXT, "NAME", offsetof(struct undo_options, by), 0, 0,
     "name recorded with the undo (default: the name of the token, or http)"},
    {"quiet", 'q', NB_FLAG_SWITCH, NULL, offsetof(struct undo_options, is_quiet), 0, 0,
     "no progress bar and no summary"},
};

/* ---- telling --------------------------------------------------------------------------------- */

static void print_result(const struct nb_exchange_input *asked, json_t *result)
{
    const struct undo_options *options = asked->options;
    const char *label;
    const json_t *row;
    if (options->is_quiet)
        return;
    nb_exchange_text(options->dry_run ? "{model}: {#documents} documents would be taken back"
                                      : "{model}: {#documents} documents taken back",
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

/* ---- asking ---------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct undo_options, member)

static const struct nb_exchange UNDOING = {
    .method = "POST",
    .path = "/v1/models/{model}/undo",
    .query = {{"source", NB_FLAG_TEXT, AT(by), false}},
    .body = {{"source", NB_FLAG_TEXT, AT(source), false},
             {"from", NB_FLAG_TEXT, AT(from), false},
             {"to", NB_FLAG_TEXT, AT(to), false},
             {"ids", NB_FLAG_LIST, AT(ids), false},
             {"dry_run", NB_FLAG_SWITCH, AT(dry_run), false}},
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

/* Requests all parts; *sum is the reply that a single request for all of them would have had. */
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

static int run_undo(struct nb_client *client, const void *user, char **arguments, size_t count,
                    struct nb_error *error)
{
    const struct undo_options *options = user;
    struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    if (options->dry_run)
        return nb_exchange_run(&UNDOING, &asked, error);
    json_t *result = json_pack("{s:s, s:{}}", "model", client->model, "labels");
    asked.body = json_pack("{s:i}", "limit", PART);
    int rc = asked.body != NULL ? nb_call_open(&client->daemon, &asked.call, error)
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
    .arguments = "",
    .summary = "Takes back what was learned from a source, in a span of time, or of some ids",
    .details =
        "A document is taken back when its newest change is of this source, in this span of time,\n"
        "and has one of these ids, as far as they are given; one of them must be. It is then as "
        "it\n"
        "was before, or forgotten when it was not known before. --dry-run says how many documents\n"
        "that are. An undo that was cut off is finished by the same command.\n",
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .patience = 300,
    .run = run_undo,
};
