/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc explain: shows the tokens that weigh most in one document.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/run.h"

enum { BAR = 12 };

/* Finds the two most probable labels. Evidence above 0 speaks for the first, below 0 for the
 * second. */
static void find_sides(const json_t *verdict, const char **winner, const char **second)
{
    const char *name;
    const json_t *value;
    double most = -1;
    *winner = json_string_value(json_object_get(verdict, "label"));
    *second = "others";
    json_object_foreach(json_object_get(verdict, "probabilities"), name, value)
    {
        if (*winner == NULL || strcmp(name, *winner) == 0 || json_number_value(value) <= most)
            continue;
        most = json_number_value(value);
        *second = name;
    }
}

/* Returns the evidence of a row. Null is infinite evidence: the runner-up is impossible. */
static double evidence_of(const json_t *row)
{
    const json_t *evidence = json_object_get(row, "evidence");
    return json_is_null(evidence) ? (double)INFINITY : json_number_value(evidence);
}

static double largest_evidence(const json_t *rows)
{
    size_t i;
    const json_t *row;
    double most = 0;
    json_array_foreach(rows, i, row)
    {
        double size = fabs(evidence_of(row));
        most = isinf(size) ? most : fmax(most, size);
    }

    return most;
}

/* For a model with a parent, adds the shares of both: "mail-ann 20 %, mail 80 %". */
static void add_shares(struct nb_text_table *table, const json_t *shares)
{
    json_t *object = (json_t *)(uintptr_t)shares; /* iterators only read it */
    struct nb_buffer text = {0};
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        int percent = (int)(100 * json_number_value(json_object_iter_value(at)) + 0.5);
        if (percent > 0)
            (void)nb_buffer_printf(&text, "%s%s %d %%", text.length > 0 ? ", " : "",
                                   nb_shown(json_object_iter_key(at)).text, percent);
    }
    nb_table_cell(table, "%.*s", (int)text.length, text.length > 0 ? text.bytes : "");
    nb_buffer_deinit(&text);
}

static void add_row(struct nb_text_table *table, const json_t *row, const char *winner,
                    const char *second, double most)
{
    static const char HASHES[] = "############";
    double evidence = evidence_of(row);
    const char *token = json_string_value(json_object_get(row, "token"));
    json_int_t count = json_integer_value(json_object_get(row, "count"));
    int length = isinf(evidence) ? BAR : most > 0 ? (int)(fabs(evidence) / most * BAR + 0.5) : 0;
    nb_table_cell(table, "%s", token != NULL ? token : "(prior)");
    if (count > 0)
        nb_table_cell(table, "%s", nb_figure_of((uint64_t)count).text);
    else
        nb_table_cell(table, "%s", "");
    nb_table_cell(table, "%+.3f", evidence);
    nb_table_cell(table, "%s", evidence < 0 ? second : winner);
    nb_table_cell(table, "%.*s", length, HASHES);
    if (json_object_get(row, "shares") != NULL)
        add_shares(table, json_object_get(row, "shares"));
}

/* Says which passage decides, if one does. */
static void print_passage(const json_t *verdict)
{
    const json_t *passage = json_object_get(verdict, "passage");
    const char *text = json_string_value(json_object_get(passage, "text"));
    struct nb_buffer safe = {0};
    if (passage == NULL)
        return;
    (void)printf("this passage decides (bytes %" PRIu64 " to %" PRIu64
                 " of the text; by all of it %s would have %.6f):\n",
                 (uint64_t)json_integer_value(json_object_get(passage, "from")),
                 (uint64_t)json_integer_value(json_object_get(passage, "to")),
                 nb_shown(nb_answer_text(passage, "label")).text,
                 json_number_value(json_object_get(passage, "whole")));
    nb_terminal_safe(text != NULL ? text : "", 1024, &safe);
    if (safe.length > 0)
        (void)printf("    %s\n", safe.bytes);
    nb_buffer_deinit(&safe);
}

static void print_explanation(const struct nb_outcome *outcome)
{
    static const char *const HEAD[] = {"token", ">count", ">evidence", "for", "", "from"};
    const json_t *verdict = outcome->result, *row, *rows = json_object_get(verdict, "explanation");
    const char *winner, *second, *missing;
    struct nb_buffer name = {0};
    struct nb_text_table table;
    size_t i;
    find_sides(verdict, &winner, &second);
    winner = winner != NULL ? winner : "?";
    nb_terminal_safe(outcome->name, 200, &name);
    (void)printf("%s: %s%s%s, probability %.6f\n", name.bytes != NULL ? name.bytes : "",
                 nb_colour(stdout, nb_colour_of(winner)), nb_shown(winner).text,
                 nb_colour(stdout, NB_COLOUR_PLAIN),
                 json_number_value(json_object_get(verdict, "probability")));
    missing = json_string_value(json_object_get(verdict, "missing"));
    if (missing != NULL)
        (void)printf("the model has learned too little yet: %s\n", nb_shown(missing).text);
    if (json_object_get(verdict, "known") != NULL)
        (void)printf(
            "of any of the labels: %.6f%s\n", json_number_value(json_object_get(verdict, "known")),
            strcmp(nb_answer_text(verdict, "decision"), "none") == 0 ? ", decided none" : "");
    if (json_object_get(verdict, "evidence") != NULL)
        (void)puts("nothing of the document is known to the model: this is likely of any document");
    print_passage(verdict);
    (void)putchar('\n');
    bool has_parent = json_object_get(json_array_get(rows, 0), "shares") != NULL;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0] - (has_parent ? 0 : 1));
    json_array_foreach(rows, i, row)
    {
        add_row(&table, row, winner, second, largest_evidence(rows));
    }

    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
    nb_buffer_deinit(&name);
}

static int take_verdict(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    const struct nb_client *client = user;
    if (outcome->refusal != NULL)
        return nb_error_set(error, outcome->code, "%s", outcome->refusal);
    if (client->json)
        return nb_answer_print(outcome->result, error);
    print_explanation(outcome);
    return 0;
}

static int run_explain(struct nb_asked *asked, struct nb_error *error)
{
    static const struct nb_exchange EXPLAINING = {.path = "/v1/models/{model}/classify",
                                                  .query = {"explain=tokens"}};
    struct nb_run run = {
        .asked = asked, .exchange = &EXPLAINING, .take = take_verdict, .user = asked->client};
    int rc = nb_run_send(&run, error);
    return rc != 0 ? rc : nb_run_status(&run);
}

static const struct nb_flag FLAGS[] = {NB_COUNT("tokens", 'n', tokens, 20, 1, 10000),
                                       NB_FILES_FLAGS};

const struct nb_command NB_COMMAND_EXPLAIN = {
    .name = "explain",
    NB_FLAGS(FLAGS),
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_explain,
};
