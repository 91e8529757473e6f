/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc classify: prints the verdict on each document, one line each.
 */
#include <stdio.h>
#include <string.h>

#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/run.h"
#include "server/client/files/write_csv.h"
#include "server/client/terminal/message.h"
#include "server/client/terminal/terminal.h"

struct classify_options {
    struct nb_files_options files;
    bool is_csv;
    uint64_t connections;
};

static const struct classify_options DEFAULTS = {.connections = 2};

static const struct nb_flag FLAGS[] = {
    NB_FILES_FLAGS(struct classify_options),
    {"connections", 'c', NB_FLAG_COUNT, "N", offsetof(struct classify_options, connections), 1,
     NB_CONNECTIONS_MOST, "connections at the same time (default: 2)"},
    {"csv", 0, NB_FLAG_SWITCH, NULL, offsetof(struct classify_options, is_csv), 0, 0,
     "print the rows of a table as they are, as CSV, with two columns more:\n"
     "predicted and probability"},
};

struct output {
    bool is_json, is_csv;
    bool has_head;   /* of the CSV, which is printed once */
    bool is_told;    /* that the model has learned too little */
    uint64_t silent; /* documents of which no token is known */
    struct nb_buffer name, row;
};

static int print_verdict(struct output *output, const struct nb_outcome *outcome)
{
    const char *label = json_string_value(json_object_get(outcome->result, "label"));
    double probability = json_number_value(json_object_get(outcome->result, "probability"));
    const char *missing = json_string_value(json_object_get(outcome->result, "missing"));
    if (missing != NULL && !output->is_told)
        nb_message("the model has learned too little yet: %s", missing);
    output->is_told = output->is_told || missing != NULL;
    output->silent += json_object_get(outcome->result, "evidence") != NULL;
    nb_terminal_safe(label != NULL ? label : "?", 64, &output->name);
    int printed = printf("%-8s %.6f  ", output->name.bytes, probability);
    nb_terminal_safe(outcome->name, SIZE_MAX, &output->name);
    return printed < 0 || puts(output->name.bytes) < 0;
}

/* Prints a row and its two columns, of which each may be empty. */
static int print_row(struct output *output, const char *row, const char *label,
                     const char *probability, struct nb_error *error)
{
    output->row.length = 0;
    int rc = nb_buffer_puts(&output->row, row);
    if (rc == 0)
        rc = nb_csv_cell(nb_string_of(label), false, &output->row);
    if (rc == 0)
        rc = nb_buffer_printf(&output->row, ",%s", probability);
    if (rc != 0)
        return nb_error_no_memory(error);
    return puts(output->row.bytes) >= 0
               ? 0
               : nb_error_set(error, NB_IO, "standard output cannot be written");
}

static int take_head(void *user, struct nb_string row, struct nb_error *error)
{
    struct output *output = user;
    struct nb_buffer head = {0};
    int rc = nb_buffer_append(&head, row.bytes, row.length);
    if (rc == 0)
        rc = nb_buffer_append(&head, "", 1);
    rc = rc != 0             ? nb_error_no_memory(error)
         : !output->has_head ? print_row(output, head.bytes, "predicted", "probability", error)
                             : 0;
    output->has_head = true;
    nb_buffer_deinit(&head);
    return rc;
}

/* What is in no table has its name in the place of a row. */
static int print_csv(struct output *output, const struct nb_outcome *outcome,
                     struct nb_error *error)
{
    struct nb_buffer name = {0};
    char probability[32] = "";
    json_t *number = json_object_get(outcome->result, "probability");
    int rc = nb_csv_cell(nb_string_of(outcome->name), true, &name);
    if (rc == 0)
        rc = nb_buffer_append(&name, "", 1);
    if (json_is_number(number))
        (void)snprintf(probability, sizeof probability, "%.6f", json_number_value(number));
    rc = rc != 0 ? nb_error_no_memory(error)
                 : print_row(output, *outcome->row != '\0' ? outcome->row : name.bytes,
                             nb_answer_text(outcome->result, "label"), probability, error);
    nb_buffer_deinit(&name);
    return rc;
}

static int take_verdict(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct output *output = user;
    if (outcome->refusal != NULL && outcome->code == NB_NOT_FOUND)
        return nb_error_set(error, outcome->code, "%s", outcome->refusal);
    if (output->is_csv)
        return print_csv(output, outcome, error);
    if (!output->is_json && print_verdict(output, outcome) != 0)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    if (!output->is_json)
        return 0;
    json_t *object = json_copy((json_t *)(uintptr_t)outcome->result); /* is only read */
    (void)json_object_set_new(object, "document", json_string(outcome->name));
    if (*outcome->id != '\0')
        (void)json_object_set_new(object, "id", json_string(outcome->id));
    int rc = nb_answer_print(object, error);
    json_decref(object);
    return rc;
}

static int run_classify(struct nb_client *client, const void *user, char **arguments, size_t count,
                        struct nb_error *error)
{
    const struct classify_options *options = user;
    struct nb_files_options files = options->files;
    struct output output = {.is_json = client->json, .is_csv = options->is_csv};
    files.keeps_rows = options->is_csv;
    struct nb_run run = {
        .client = client,
        .files = &files,
        .operation = "/classify",
        .connections = (size_t)options->connections,
        .is_quiet = true,
        .wants_refused = options->is_csv,
        .take = take_verdict,
        .head = take_head,
        .user = &output,
    };
    int rc = nb_run_documents(&run, arguments, count, error);
    nb_buffer_deinit(&output.name);
    nb_buffer_deinit(&output.row);
    if (output.silent > 0)
        nb_message("the model knows no token of %llu of these documents: their labels are those "
                   "likely of any document",
                   (unsigned long long)output.silent);
    return rc != 0 ? rc : nb_run_status(&run);
}

const struct nb_command NB_COMMAND_CLASSIFY = {
    .name = "classify",
    .arguments = "[PATH]...",
    .summary = "Prints the label and the probability of each document, in their order",
    .details = NB_FILES_DETAILS
    "\n"
    "With --json each line is the daemon's verdict with the name of the document\n"
    "added, and its id if it brought one. With --csv a table comes out as it was,\n"
    "with two columns more; a row that was refused has them empty.\n"
    "\n"
    "  bayesc classify --columns text=title+body,id=ticket --csv new.csv >out.csv\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_classify,
};
