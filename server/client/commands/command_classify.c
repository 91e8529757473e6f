/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc classify: prints the verdict on each document, one line each.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/run.h"
#include "server/client/files/file_rows.h"

/* What bayesc classify prints of a verdict beside its label and probability: the decision by a
 * threshold, the runner-up labels, and the tokens that weigh most. Main thread. */
enum { TOP_MOST = 1000, EVIDENCE_MOST = 1000 };

/* ---- the labels ------------------------------------------------------------------------------ */

struct ranked {
    const char *label;   /* borrowed from the verdict, like the value */
    const json_t *value; /* the probability */
    double probability;
    bool wins;
};

static int by_probability(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->wins != y->wins)
        return x->wins ? -1 : 1;
    if (x->probability != y->probability)
        return x->probability > y->probability ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* Fills `rank` with the `top` most probable labels, the winner first. Returns how many there are.
 */
static size_t rank_labels(const json_t *verdict, uint64_t top, struct ranked rank[TOP_MOST])
{
    const char *winner = nb_answer_text(verdict, "label");
    json_t *labels = json_object_get(verdict, "probabilities");
    const char *name;
    json_t *value;
    struct nb_heap heap = {
        .items = rank, .most = (size_t)top, .item_size = sizeof *rank, .compare = by_probability};
    json_object_foreach(labels, name, value)
    {
        struct ranked one = {name, value, json_number_value(value), strcmp(name, winner) == 0};
        nb_heap_add(&heap, &one);
    }
    nb_heap_sort(&heap);
    return heap.count;
}

static bool decides(const struct nb_command_options *columns)
{
    return columns->threshold >= 0 || columns->min_known >= 0;
}

/* Returns the label that a person reads first: the decision if one is asked for, or by the model's
 * setting ("unsure", "none"), else the label. Borrowed from the verdict, or "?". */
static const char *first_label(const struct nb_command_options *columns, const json_t *verdict)
{
    const json_t *decision = json_object_get(verdict, "decision");
    const char *label = json_string_value(
        decides(columns) || decision != NULL ? decision : json_object_get(verdict, "label"));
    return label != NULL ? label : "?";
}

/* ---- several labels -------------------------------------------------------------------------- */

/* Whether the documents of the model have several labels. */
static bool has_several(const json_t *verdict)
{
    return json_is_array(json_object_get(verdict, "labels"));
}

/* Writes the labels that a document is given, with ';' between them; or their probabilities. */
static int put_given(const json_t *verdict, bool are_probabilities, struct nb_buffer *out)
{
    const json_t *probabilities = json_object_get(verdict, "probabilities"), *label;
    size_t i;
    int rc = 0;
    json_array_foreach(json_object_get(verdict, "labels"), i, label)
    {
        const char *name = json_string_value(label);
        if (rc == 0 && i > 0)
            rc = nb_buffer_puts(out, ";");
        if (rc == 0)
            rc = are_probabilities
                     ? nb_buffer_printf(out, "%.6f",
                                        json_number_value(json_object_get(probabilities, name)))
                     : nb_buffer_puts(out, name);
    }
    return rc == 0 ? nb_buffer_append(out, "", 1) : rc;
}

/* ---- the evidence ---------------------------------------------------------------------------- */

/* "pills +3.120; lunch -0.400": evidence above 0 speaks for the label. Evidence of null makes the
 * runner-up impossible and is shown as +inf; the row of the prior is left out because it is not a
 * token. */
static int put_evidence(const json_t *verdict, struct nb_buffer *out)
{
    size_t i;
    const json_t *row;
    const char *join = "";
    int rc = 0;
    json_array_foreach(json_object_get(verdict, "explanation"), i, row)
    {
        const char *token = json_string_value(json_object_get(row, "token"));
        const json_t *evidence = json_object_get(row, "evidence");
        if (token == NULL || rc != 0)
            continue;
        double value = json_is_number(evidence) ? json_number_value(evidence) : (double)INFINITY;
        rc = nb_buffer_printf(out, "%s%s %+.3f", join, token, value);
        join = "; ";
    }
    return rc;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* The cells that are added to a row. After the first failure nothing more is added. */
struct cells {
    struct nb_buffer *out;
    char separator;
    int code; /* 0 or NB_NO_MEMORY */
};

static void put_cell(struct cells *cells, struct nb_string text)
{
    if (cells->code == 0)
        cells->code = nb_csv_cell(text, cells->separator, false, cells->out);
}

static void put_text_cell(struct cells *cells, const char *text)
{
    put_cell(cells, nb_string_of(text));
}

/* Puts a number, or an empty cell for what is not one. */
static void put_number(struct cells *cells, const json_t *value)
{
    char text[32] = "";
    if (json_is_number(value))
        (void)snprintf(text, sizeof text, "%.6f", json_number_value(value));
    put_text_cell(cells, text);
}

static void put_given_cell(struct cells *cells, const json_t *verdict, bool are_probabilities)
{
    struct nb_buffer given = {0};
    if (cells->code == 0)
        cells->code = put_given(verdict, are_probabilities, &given);
    if (cells->code == 0)
        put_text_cell(cells, given.bytes);
    nb_buffer_deinit(&given);
}

/* Put the head of the columns, and their cells: predicted; probability; decision; known;
 * predicted_2, probability_2 and so on to `top`; evidence. The cells are empty if the verdict is
 * NULL (the document was refused). */
static void put_head(const struct nb_command_options *columns, struct cells *cells)
{
    put_text_cell(cells, "predicted");
    put_text_cell(cells, "probability");
    if (decides(columns))
        put_text_cell(cells, "decision");
    if (columns->min_known >= 0)
        put_text_cell(cells, "known");
    for (uint64_t i = 2; i <= columns->top && cells->code == 0; i++)
        cells->code = nb_buffer_printf(cells->out, "%cpredicted_%" PRIu64 "%cprobability_%" PRIu64,
                                       cells->separator, i, cells->separator, i);
    if (columns->evidence > 0)
        put_text_cell(cells, "evidence");
}

static void put_columns(const struct nb_command_options *columns, const json_t *verdict,
                        struct cells *cells)
{
    struct ranked rank[TOP_MOST];
    struct nb_buffer evidence = {0};
    size_t count = columns->top > 0 ? rank_labels(verdict, columns->top, rank) : 0;
    if (has_several(verdict)) {
        put_given_cell(cells, verdict, false);
        put_given_cell(cells, verdict, true);
    } else {
        put_text_cell(cells, nb_answer_text(verdict, "label"));
        put_number(cells, json_object_get(verdict, "probability"));
    }
    if (decides(columns))
        put_text_cell(cells, nb_answer_text(verdict, "decision"));
    if (columns->min_known >= 0)
        put_number(cells, json_object_get(verdict, "known"));
    for (size_t i = 1; i < columns->top; i++) {
        put_text_cell(cells, i < count ? rank[i].label : "");
        put_number(cells, i < count ? rank[i].value : NULL);
    }
    if (columns->evidence > 0 && cells->code == 0)
        cells->code = put_evidence(verdict, &evidence);
    if (columns->evidence > 0)
        put_cell(cells, nb_buffer_string(&evidence));
    nb_buffer_deinit(&evidence);
}

/* ---- for people ------------------------------------------------------------------------------ */

/* Appends the same columns for people, to be printed after the name of the document. The caller
 * must pass the text through nb_terminal_safe before it prints it on a terminal. */
static int put_text(const struct nb_command_options *columns, const json_t *verdict,
                    struct nb_buffer *out)
{
    struct ranked rank[TOP_MOST];
    size_t count = columns->top > 0 ? rank_labels(verdict, columns->top, rank) : 0;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = nb_buffer_printf(out, "%s%s %.6f", i == 0 ? "  | " : ", ", rank[i].label,
                              rank[i].probability);
    if (rc == 0 && columns->evidence > 0)
        rc = nb_buffer_puts(out, "  | ");
    return rc == 0 && columns->evidence > 0 ? put_evidence(verdict, out) : rc;
}

struct output {
    bool is_json, is_csv;
    const struct nb_command_options *columns;
    bool has_head;             /* the head of the CSV was printed; it is printed once */
    bool has_rows;             /* a part of the CSV was printed */
    bool is_told;              /* the user was told that the model has learned too little */
    uint64_t silent;           /* documents without a known token */
    json_t *counts;            /* owned: documents by decision, for the summary */
    uint64_t lost;             /* characters of the new columns that the charset does not have */
    struct nb_table_form form; /* of the table that is printed again */
    struct nb_buffer name, row, more;
};

static int print_verdict(struct output *output, const struct nb_outcome *outcome,
                         struct nb_error *error)
{
    const char *label = first_label(output->columns, outcome->result);
    double probability = json_number_value(json_object_get(outcome->result, "probability"));
    const char *missing = json_string_value(json_object_get(outcome->result, "missing"));
    if (missing != NULL && !output->is_told)
        nb_message("the model has learned too little yet: %s", missing);
    output->is_told = output->is_told || missing != NULL;
    output->silent += json_object_get(outcome->result, "evidence") != NULL;
    int printed = 0;
    if (has_several(outcome->result)) {
        output->more.length = 0;
        if (put_given(outcome->result, false, &output->more) != 0)
            return nb_error_no_memory(error);
        nb_terminal_safe(*output->more.bytes == '\0' ? "-" : output->more.bytes, SIZE_MAX,
                         &output->name);
        printed = printf("%s  ", output->name.bytes);
    } else {
        nb_terminal_safe(label, 64, &output->name);
        printed = printf("%s%-8s%s %.6f  ", nb_colour(stdout, nb_colour_of(label)),
                         output->name.bytes, nb_colour(stdout, NB_COLOUR_PLAIN), probability);
    }
    nb_terminal_safe(outcome->name, SIZE_MAX, &output->name);
    if (printed < 0 || fputs(output->name.bytes, stdout) < 0)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    output->more.length = 0;
    int rc = put_text(output->columns, outcome->result, &output->more);
    if (rc != 0 || nb_buffer_append(&output->more, "", 1) != 0)
        return nb_error_no_memory(error);
    nb_terminal_safe(output->more.bytes, SIZE_MAX, &output->name);
    return puts(output->name.bytes) >= 0
               ? 0
               : nb_error_set(error, NB_IO, "standard output cannot be written");
}

/* Begins the cells that are added to the next row. */
static struct cells cells_of(struct output *output)
{
    output->row.length = 0;
    return (struct cells){.out = &output->row,
                          .separator = output->form.is_known ? output->form.separator : ','};
}

/* Prints a row of a table, which may be empty, followed by output->row. */
static int print_row(struct output *output, struct nb_string own, struct nb_error *error)
{
    const struct nb_csv_row row = {
        .own = own,
        .added = {output->row.bytes, output->row.length},
        .is_first = !output->has_rows,
    };
    output->has_rows = true;
    int rc = nb_csv_write_row(&output->form, &row, &output->lost, stdout, error);
    if (rc == NB_INVALID)
        return nb_error_set(error, rc,
                            "the output is in %s, as the first table, and a row of another table "
                            "has characters that are not in it: classify them one by one",
                            output->form.charset);
    return rc;
}

static int take_head(void *user, struct nb_string row, struct nb_error *error)
{
    struct output *output = user;
    struct cells cells = cells_of(output);
    if (output->has_head)
        return 0;
    output->has_head = true;
    put_head(output->columns, &cells);
    return cells.code != 0 ? nb_error_no_memory(error) : print_row(output, row, error);
}

/* A document that is not from a table has its name in the place of the row. */
static int print_csv(struct output *output, const struct nb_outcome *outcome,
                     struct nb_error *error)
{
    struct cells cells = cells_of(output);
    if (*outcome->row == '\0')
        cells.code = nb_csv_cell(nb_string_of(outcome->name), cells.separator, true, cells.out);
    put_columns(output->columns, outcome->result, &cells);
    return cells.code != 0 ? nb_error_no_memory(error)
                           : print_row(output, nb_string_of(outcome->row), error);
}

/* Tells how many documents got which label; not of a single document. */
static void print_summary(const struct output *output, uint64_t documents)
{
    const char *label, *separator = ": ";
    const json_t *count;
    struct nb_buffer text = {0};
    int rc = nb_buffer_puts(&text, nb_counted(documents, "document").text);
    json_object_foreach(output->counts, label, count)
    {
        uint64_t number = (uint64_t)json_integer_value(count);
        if (rc == 0)
            rc = nb_buffer_printf(&text, "%s%s %s", separator, nb_figure_of(number).text, label);
        separator = ", ";
    }
    if (rc == 0 && documents > 1)
        nb_message("%s", text.bytes);
    nb_buffer_deinit(&text);
}

/* Counts a document for each label that it is given. */
static void count_given(struct output *output, const json_t *verdict)
{
    const json_t *label;
    size_t i;
    json_array_foreach(json_object_get(verdict, "labels"), i, label)
    {
        const char *name = json_string_value(label);
        json_int_t before = json_integer_value(json_object_get(output->counts, name));
        (void)json_object_set_new(output->counts, name, json_integer(before + 1));
    }
}

static int take_verdict(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct output *output = user;
    if (outcome->refusal != NULL && outcome->code == NB_NOT_FOUND)
        return nb_error_set(error, outcome->code, "%s", outcome->refusal);
    if (outcome->result != NULL && has_several(outcome->result)) {
        count_given(output, outcome->result);
    } else if (outcome->result != NULL) {
        const char *label = first_label(output->columns, outcome->result);
        json_int_t before = json_integer_value(json_object_get(output->counts, label));
        (void)json_object_set_new(output->counts, label, json_integer(before + 1));
    }
    if (output->is_csv)
        return print_csv(output, outcome, error);
    if (!output->is_json)
        return print_verdict(output, outcome, error);
    json_t *object = json_copy((json_t *)(uintptr_t)outcome->result); /* is only read */
    (void)json_object_set_new(object, "document", json_string(outcome->name));
    if (*outcome->id != '\0')
        (void)json_object_set_new(object, "id", json_string(outcome->id));
    int rc = nb_answer_print(object, error);
    json_decref(object);
    return rc;
}

static int run_classify(struct nb_asked *asked, struct nb_error *error)
{
    static const struct nb_exchange CLASSIFYING = {
        .path = "/v1/models/{model}/classify",
        .query = {"threshold", "min_known=min-known", "top", "explain=evidence"}};
    const struct nb_command_options *options = asked->options;
    struct output output = {.is_json = asked->client->json,
                            .is_csv = options->is_csv,
                            .columns = options,
                            .counts = json_object()};
    if (options->is_csv && output.is_json)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "only one of --csv and --json may be given: the output is one of them");
    struct nb_run run = {
        .asked = asked,
        .exchange = &CLASSIFYING,
        .take = take_verdict,
        .head = take_head,
        .form = &output.form,
        .user = &output,
    };
    int rc = nb_run_send(&run, error);
    nb_buffer_deinit(&output.name);
    nb_buffer_deinit(&output.row);
    nb_buffer_deinit(&output.more);
    if (output.lost > 0)
        nb_message(
            "the charset of the table, %s, lacks %s of the new columns: a question mark stands "
            "for each (--json has them)",
            output.form.charset, nb_counted(output.lost, "character").text);
    if (output.silent > 0)
        nb_message("the model knows no token of %s: the label is the likely one of any document",
                   nb_counted(output.silent, "document").text);
    if (rc == 0 && !output.is_json && !options->is_csv && !options->is_quiet)
        print_summary(&output, run.documents);
    json_decref(output.counts);
    return rc != 0 ? rc : nb_run_status(&run);
}

static const struct nb_flag FLAGS[] = {
    NB_FILES_FLAGS,
    NB_COUNT("connections", 'c', connections, 2, 1, NB_CONNECTIONS_MOST),
    NB_SWITCH("csv", 0, is_csv),
    NB_QUIET_FLAG,
    NB_NUMBER("threshold", 0, threshold, -1, 0, 1),
    NB_NUMBER("min-known", 0, min_known, -1, 0, 1),
    NB_COUNT("top", 0, top, 0, 1, TOP_MOST),
    NB_COUNT("evidence", 0, evidence, 0, 1, EVIDENCE_MOST),
};

const struct nb_command NB_COMMAND_CLASSIFY = {
    .name = "classify",
    NB_FLAGS(FLAGS),
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_classify,
};
