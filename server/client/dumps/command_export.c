/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc export: writes a whole model to a file.
 */
#include <stdio.h>
#include <string.h>

#include "server/call/path.h"
#include "server/client/commands/commands.h"
#include "server/client/dumps/dump_check.h"
#include "server/client/files/write_file.h"

/* Where a dump goes on its way from the daemon. */
struct export
{
    FILE *out;
    struct nb_dump_check check;
    bool is_broken; /* `out` cannot be written */
};

static int take_bytes(void *user, const char *bytes, size_t length)
{
    struct export *e = user;
    e->is_broken = fwrite(bytes, 1, length, e->out) != length;
    return e->is_broken ? NB_IO : nb_dump_check_add(&e->check, bytes, length);
}

/* Why the request failed or, when it did not, what is wrong with the dump. */
static int result(struct export *e, int rc, struct nb_error *error)
{
    if (e->is_broken)
        return nb_error_set(error, NB_IO, "the output cannot be written");
    if (rc != 0 && rc != NB_CALL_STOPPED)
        return rc;
    rc = nb_dump_check_end(&e->check);
    return rc == 0
               ? 0
               : nb_error_set(error, rc, "the daemon's dump is not whole: %s", e->check.error.text);
}

static int fetch(void *user, FILE *out, struct nb_error *error)
{
    const struct nb_client *client = user;
    struct nb_buffer path = {0}, reply = {0};
    struct nb_call *call = NULL;
    struct export e = {.out = out};
    int rc = nb_dump_check_init(&e.check);
    if (rc == 0)
        rc = nb_path_model(&path, client->model, "/export");
    rc = rc == 0 ? nb_call_open(&client->daemon, &call, error) : nb_error_no_memory(error);
    const struct nb_call_request request = {
        .method = "GET", .path = path.bytes, .take = take_bytes, .user = &e};
    if (rc == 0)
        rc = result(&e, nb_call_make(call, &request, &reply, error), error);
    nb_call_close(&call);
    nb_dump_check_deinit(&e.check);
    nb_buffer_deinit(&reply);
    nb_buffer_deinit(&path);
    return rc;
}

static int run_export(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)options;
    if (count == 0 || strcmp(arguments[0], "-") == 0)
        return fetch(client, stdout, error);
    return nb_write_file(arguments[0], fetch, client, error);
}

const struct nb_command NB_COMMAND_EXPORT = {
    .name = "export",
    .arguments = "[FILE]",
    .unused = NB_UNUSED_JSON,
    .summary = "Writes a whole model to a file or standard output",
    .details =
        "The file is NDJSON. It is FILE.part until it is complete and its totals are checked;\n"
        "then it gets its name.\n",
    .most = 1,
    .patience = 60,
    .run = run_export,
};
