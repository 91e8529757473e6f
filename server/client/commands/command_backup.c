/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc backup writes the daemon's whole store to a file; bayesc restore puts such a file into an
 * empty data directory. Only bayesd itself can restore, and only while no daemon runs on the
 * directory; so restore executes bayesd.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/archive/backup/format.h"
#include "server/client/commands/commands.h"
#include "server/client/files/write_file.h"

/* ---- backup ---------------------------------------------------------------------------------- */

/* The destinations of a backup that comes from the daemon. */
struct fetching {
    const struct nb_client *client;
    FILE *out;
    struct nb_backup_reader reader; /* checks the backup */
    struct nb_error damage;
    bool is_broken; /* `out` cannot be written */
};

static int take_bytes(void *user, const char *bytes, size_t length)
{
    struct fetching *f = user;
    f->is_broken = fwrite(bytes, 1, length, f->out) != length;
    return f->is_broken ? NB_IO : nb_backup_read(&f->reader, bytes, length, &f->damage);
}

/* Returns why the request failed or, if it succeeded, what is wrong with the backup. */
static int result(const struct fetching *f, int rc, struct nb_error *error)
{
    if (f->is_broken)
        return nb_error_set(error, NB_IO, "the output cannot be written");
    if (f->damage.code != 0)
        return nb_error_set(error, f->damage.code, "%s", f->damage.text);
    return rc != 0 ? rc : nb_backup_read_end(&f->reader, error);
}

static int fetch(void *user, FILE *out, struct nb_error *error)
{
    struct fetching f = {.client = user, .out = out};
    struct nb_buffer reply = {0};
    struct nb_call *call = NULL;
    const struct nb_call_request request = {
        .method = "POST", .path = "/v1/backup", .take = take_bytes, .user = &f};
    nb_backup_reader_init(&f.reader, NULL);
    int rc = nb_call_open(&f.client->daemon, &call, error);
    if (rc == 0)
        rc = result(&f, nb_call_make(call, &request, &reply, error), error);
    nb_call_close(&call);
    nb_backup_reader_deinit(&f.reader);
    nb_buffer_deinit(&reply);
    return rc;
}

/* Names the file. In a directory it gets a name with the time of the backup. */
static int name_file(const char *where, struct nb_buffer *name, struct nb_error *error)
{
    struct stat status;
    char when[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (stat(where, &status) != 0 || !S_ISDIR(status.st_mode))
        return nb_buffer_puts(name, where) == 0 && nb_buffer_append(name, "", 1) == 0
                   ? 0
                   : nb_error_no_memory(error);
    if (gmtime_r(&now, &utc) == NULL || strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc) == 0)
        return nb_error_set(error, NB_IO, "the clock cannot be read");
    return nb_buffer_printf(name, "%s/bayesd-%s.backup", where, when) == 0
               ? 0
               : nb_error_no_memory(error);
}

static int run_backup(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)options;
    (void)count;
    if (strcmp(arguments[0], "-") == 0)
        return fetch(client, stdout, error);
    struct nb_buffer name = {0};
    int rc = name_file(arguments[0], &name, error);
    if (rc == 0)
        rc = nb_write_file(name.bytes, fetch, client, error);
    if (rc == 0)
        (void)puts(name.bytes); /* a failure is seen when standard output is flushed */
    nb_buffer_deinit(&name);
    return rc;
}

const struct nb_command NB_COMMAND_BACKUP = {
    .name = "backup",
    .arguments = "DIR|FILE",
    .unused = NB_UNUSED_MODEL | NB_UNUSED_JSON,
    .summary = "Writes the whole store, all models, to a file",
    .details =
        "The daemon goes on serving. In a directory the file is called bayesd-DATE.backup; '-' is\n"
        "standard output. The file is FILE.part until it is complete and its checksums are right;\n"
        "then it gets its name, which is printed. bayesc restore puts it back.\n",
    .least = 1,
    .most = 1,
    .patience = 10,
    .run = run_backup,
};

/* ---- restore --------------------------------------------------------------------------------- */

enum { PATH_ROOM = 4096 };

/* Runs bayesd from a place beside this program. Returns only if bayesd is not there. */
static void run_beside(const char *beside, char *const *words)
{
    char path[PATH_ROOM + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_ROOM);
    if (length <= 0 || length == PATH_ROOM)
        return;
    path[length] = '\0';
    char *end = strrchr(path, '/');
    if (end == NULL || strlen(beside) + 1 > sizeof path - (size_t)(end + 1 - path))
        return;
    (void)memcpy(end + 1, beside, strlen(beside) + 1);
    (void)execv(path, words);
}

static int run_restore(struct nb_client *client, const void *user, char **arguments, size_t count,
                       struct nb_error *error)
{
    static char name[] = "bayesd", restore[] = "--restore", data[] = "--data";
    char *const words[] = {name, restore, arguments[0], data, arguments[1], NULL};
    (void)client;
    (void)user;
    (void)count;
    if (access(arguments[0], R_OK) != 0)
        return nb_error_set(error, NB_NOT_FOUND, "%s: %s", arguments[0], strerror(errno));
    run_beside("bayesd", words);
    run_beside("../sbin/bayesd", words);
    (void)execvp(name, words);
    return nb_error_set(error, NB_NOT_FOUND,
                        "bayesd is not on this machine (%s): call bayesd --restore FILE --data DIR "
                        "where it is",
                        strerror(errno));
}

const struct nb_command NB_COMMAND_RESTORE = {
    .name = "restore",
    .arguments = "FILE DIR",
    .unused = NB_UNUSED_MODEL | NB_UNUSED_JSON | NB_UNUSED_DAEMON,
    .summary = "Puts a backup into an empty data directory",
    .details =
        "No daemon may run on DIR. It runs bayesd --restore FILE --data DIR on this machine, "
        "which\n"
        "checks every count against the documents, and as the user who calls it: for the daemon's\n"
        "own directory that is\n"
        "\n"
        "  sudo systemctl stop bayesd\n"
        "  sudo -u bayesd bayesc restore bayesd-DATE.backup /var/lib/bayesd\n"
        "  sudo systemctl start bayesd\n"
        "\n"
        "The exit status is that of bayesd: 0, or 1 when something differs or it failed. The file\n"
        "tokens of the directory is not in a backup.\n",
    .least = 2,
    .most = 2,
    .run = run_restore,
};
