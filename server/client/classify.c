/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc classify: a line for each document.
 */
#include <string.h>

#include "server/client/commands.h"

struct classify_options {
    struct nb_source_options source;
    uint64_t connections;
};

static const struct classify_options DEFAULTS = {.connections = 2};

static const struct nb_option OPTIONS[] = {
    NB_SOURCE_OPTIONS(struct classify_options),
    {"connections", 'c', NB_OPTION_COUNT, "N", offsetof(struct classify_options, connections), 1,
     NB_CONNECTIONS_MOST, "connections at the same time (default: 2)"},
};

struct output {
    bool is_json;
    bool was_said; /* that the model is not ready */
    struct nb_buffer name;
};

static int print_verdict(struct output *output, const struct nb_outcome *outcome)
{
    const char *label = json_string_value(json_object_get(outcome->result, "label"));
    double probability = json_number_value(json_object_get(outcome->result, "probability"));
    const char *missing = json_string_value(json_object_get(outcome->result, "missing"));
    if (missing != NULL && !output->was_said)
        nb_client_warn("the model has learned too little yet: %s", missing);
    output->was_said = output->was_said || missing != NULL;
    nb_text_safe(label != NULL ? label : "?", 64, &output->name);
    int printed = printf("%-8s %.6f  ", output->name.bytes, probability);
    nb_text_safe(outcome->name, SIZE_MAX, &output->name);
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
    json_t *object = json_copy((json_t *)(uintptr_t)outcome->result); /* shallow: not changed */
    (void)json_object_set_new(object, "document", json_string(outcome->name));
    int rc = nb_print_json(object, error);
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
        .source = &options->source,
        .operation = "/classify",
        .connections = (size_t)options->connections,
        .is_quiet = true,
        .take = take_verdict,
        .user = &output,
    };
    int rc = nb_run_documents(&run, arguments, count, error);
    nb_buffer_deinit(&output.name);
    return rc != 0 ? rc : nb_run_status(&run);
}

const struct nb_command NB_COMMAND_CLASSIFY = {
    .name = "classify",
    .arguments = "[PATH]...",
    .summary = "Says the label and the probability of each document, in their order",
    .details = NB_SOURCE_DETAILS "\nWith --json each line is the daemon's verdict, and the name of "
                                 "the document beside it.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_classify,
};
