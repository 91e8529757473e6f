/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc export and import: a whole model as a file, and back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/client/commands.h"

struct import_options {
    bool is_replacing;
};

static const struct import_options IMPORT_DEFAULTS = {0};

static const struct nb_option IMPORT_OPTIONS[] = {
    {"replace", 0, NB_OPTION_SWITCH, NULL, offsetof(struct import_options, is_replacing), 0, 0,
     "put it in the place of a model that exists"},
};

/* ---- export ------------------------------------------------------------------------------------
 */

static int fetch(const struct nb_client *client, FILE *out, struct nb_error *error)
{
    struct nb_buffer path = {0}, reply = {0};
    struct nb_call *call = NULL;
    int rc = nb_call_path(&path, client->model, "/export");
    rc = rc == 0 ? nb_call_open(client, &call, error) : nb_error_no_memory(error);
    const struct nb_request_of_client request = {.method = "GET", .path = path.bytes, .sink = out};
    if (rc == 0)
        rc = nb_call_make(call, &request, &reply, error);
    nb_call_close(&call);
    nb_buffer_deinit(&reply);
    nb_buffer_deinit(&path);
    return rc;
}

/* On disk before it takes its name: a file of that name is always a whole dump. */
static int finish_file(FILE *out, const char *temporary, const char *name, struct nb_error *error)
{
    bool is_written = fflush(out) == 0 && fsync(fileno(out)) == 0;
    int written_errno = errno;
    if (fclose(out) != 0 || !is_written)
        return nb_error_errno(error, is_written ? errno : written_errno, name);
    return rename(temporary, name) == 0 ? 0 : nb_error_errno(error, errno, name);
}

static int export_to_file(const struct nb_client *client, const char *name, struct nb_error *error)
{
    struct nb_buffer temporary = {0};
    if (nb_buffer_printf(&temporary, "%s.part", name) != 0)
        return nb_error_no_memory(error);
    FILE *out = fopen(temporary.bytes, "we");
    int rc =
        out != NULL ? fetch(client, out, error) : nb_error_errno(error, errno, temporary.bytes);
    if (rc == 0)
        rc = finish_file(out, temporary.bytes, name, error);
    else if (out != NULL)
        (void)fclose(out); /* is removed */
    if (rc != 0 && out != NULL)
        (void)unlink(temporary.bytes);
    nb_buffer_deinit(&temporary);
    return rc;
}

static int run_export(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)options;
    if (count == 0 || strcmp(arguments[0], "-") == 0)
        return fetch(client, stdout, error);
    return export_to_file(client, arguments[0], error);
}

const struct nb_command NB_COMMAND_EXPORT = {
    .name = "export",
    .arguments = "[FILE]",
    .summary = "Writes a whole model to a file or standard output",
    .details = "The file is NDJSON. It gets its name when it is complete; until then it is "
               "FILE.part.\n",
    .most = 1,
    .patience = 60,
    .run = run_export,
};

/* ---- import ------------------------------------------------------------------------------------
 */

static int refuse_existing(const struct nb_client *client, struct nb_error *error)
{
    json_t *row = NULL;
    int rc = nb_get(client, "", &row, error);
    json_decref(row);
    if (rc == NB_NOT_FOUND)
        return 0;
    return rc != 0 ? rc
                   : nb_error_set(error, NB_EXISTS,
                                  "model '%s' exists: --replace puts the dump in "
                                  "its place",
                                  client->model);
}

static const char *encoding_of(const char *name)
{
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".zst") == 0)
        return "zstd";
    return length > 3 && strcmp(name + length - 3, ".gz") == 0 ? "gzip" : NULL;
}

static int send_dump(const struct nb_client *client, FILE *in, const char *encoding,
                     struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *row = NULL;
    int rc = nb_call_path(&path, client->model, "/import");
    const struct nb_request_of_client request = {.method = "PUT",
                                                 .path = path.bytes,
                                                 .type = "application/x-ndjson",
                                                 .encoding = encoding,
                                                 .source = in};
    rc = rc == 0 ? nb_call_once(client, &request, &row, error) : nb_error_no_memory(error);
    if (rc == 0 && client->json)
        rc = nb_print_json(row, error);
    else if (rc == 0)
        (void)printf(
            "%s: %s documents\n", client->model,
            nb_figure_of((uint64_t)json_integer_value(json_object_get(row, "documents"))).text);
    nb_buffer_deinit(&path);
    json_decref(row);
    return rc;
}

static int run_import(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct import_options *options = user;
    bool is_stdin = count == 0 || strcmp(arguments[0], "-") == 0;
    int rc = options->is_replacing ? 0 : refuse_existing(client, error);
    if (rc != 0)
        return rc;
    FILE *in = is_stdin ? stdin : fopen(arguments[0], "re");
    if (in == NULL)
        return nb_error_errno(error, errno, arguments[0]);
    rc = send_dump(client, in, is_stdin ? NULL : encoding_of(arguments[0]), error);
    if (!is_stdin)
        (void)fclose(in); /* was only read */
    return rc;
}

const struct nb_command NB_COMMAND_IMPORT = {
    .name = "import",
    .arguments = "[FILE]",
    .summary = "Makes a model from what export has written",
    .details = "It scores the same to the last bit and can go on learning. A file whose name ends "
               "in .zst\nor .gz is sent as it is.\n",
    .options = IMPORT_OPTIONS,
    .option_count = sizeof IMPORT_OPTIONS / sizeof IMPORT_OPTIONS[0],
    .defaults = &IMPORT_DEFAULTS,
    .options_size = sizeof IMPORT_DEFAULTS,
    .most = 1,
    .patience = 60,
    .run = run_import,
};
