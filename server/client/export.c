/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc export: a whole model as a file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/client/commands.h"

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
