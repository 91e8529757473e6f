/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc classify: prints the verdict on each document, one line each.
 */
#include <string.h>

#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/run.h"
#include "server/client/terminal/message.h"
#include "server/client/terminal/terminal.h"

struct classify_options {
    struct nb_files_options files;
    uint64_t connections;
};

static const struct classify_options DEFAULTS = {.connections = 2};

static const struct nb_flag FLAGS[] = {
    NB_FILES_FLAGS(struct classify_options),
    {"connections", 'c', NB_FLAG_COUNT, "N", offsetof(struct classify_options, connections), 1,
     NB_CONNECTIONS_MOST, "connections at the same time (default: 2)"},
};

struct output {
    bool is_json;
    bool is_told;    /* that the model has learned too little */
    uint64_t silent; /* documents of which no token is known */
    struct nb_buffer name;
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

static int take_verdict(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct output *output = user;
    if (outcome->refusal != NULL)
        return nb_error_set(error, outcome->code, "%s", outcome->refusal);
    if (!output->is_json && print_verdict(output, outcome) != 0)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    if (!output->is_json)
        return 0;
    json_t *object = json_copy((json_t *)(uintptr_t)outcome->result); /* is only read */
    (void)json_object_set_new(object, "document", json_string(outcome->name));
    int rc = nb_answer_print(object, error);
    json_decref(object);
    return rc;
}

static int run_classify(struct nb_client *client, const void *user, char **arguments, size_t count,
                        struct nb_error *error)
{
    const struct classify_options *options = user;
    struct output output = {.is_json = client->json};
    struct nb_run run = {
        .client = client,
        .files = &options->files,
        .operation = "/classify",
        .connections = (size_t)options->connections,
        .is_quiet = true,
        .take = take_verdict,
        .user = &output,
    };
    int rc = nb_run_documents(&run, arguments, count, error);
    nb_buffer_deinit(&output.name);
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
    .details =
        NB_FILES_DETAILS "\nWith --json each line is the daemon's verdict with the name of the "
                         "document added.\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_classify,
};
