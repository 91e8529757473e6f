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
#include "core/base/platform/platform.h"
#include "server/client/commands/commands.h"

/* ---- backup ---------------------------------------------------------------------------------- */

/* Checks a backup that comes from the daemon. */
struct checking {
    struct nb_backup_reader reader;
    struct nb_error damage;
};

static int check(void *user, const char *bytes, size_t length)
{
    struct checking *c = user;
    return nb_backup_read(&c->reader, bytes, length, &c->damage);
}

static int fetch(void *user, FILE *out, struct nb_error *error)
{
    static const struct nb_exchange BACKING_UP = {.method = "POST", .path = "/v1/backup"};
    struct checking c = {.damage = {0}};
    nb_backup_reader_init(&c.reader, NULL);
    int rc = nb_exchange_fetch(&BACKING_UP, user, out, check, &c, error);
    if (c.damage.code != 0)
        rc = nb_error_set(error, c.damage.code, "%s", c.damage.text);
    else if (rc == 0)
        rc = nb_backup_read_end(&c.reader, error);
    nb_backup_reader_deinit(&c.reader);
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

static int run_backup(struct nb_asked *asked, struct nb_error *error)
{
    const char *where = asked->arguments[0];
    if (strcmp(where, "-") == 0 && isatty(STDOUT_FILENO))
        return nb_error_set(error, NB_CLIENT_USAGE, "a backup is not written to a terminal");
    if (strcmp(where, "-") == 0)
        return fetch(asked, stdout, error);
    struct nb_buffer name = {0};
    int rc = name_file(where, &name, error);
    if (rc == 0)
        rc = nb_write_file(name.bytes, fetch, asked, error);
    if (rc == 0)
        (void)puts(name.bytes); /* a failure is seen when standard output is flushed */
    nb_buffer_deinit(&name);
    return rc;
}

const struct nb_command NB_COMMAND_BACKUP = {
    .name = "backup",
    .unused = NB_UNUSED_MODEL | NB_UNUSED_JSON,
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
    if (nb_platform_program_path(path, PATH_ROOM) == 0)
        return;
    char *end = strrchr(path, '/');
    if (end == NULL || strlen(beside) + 1 > sizeof path - (size_t)(end + 1 - path))
        return;
    (void)memcpy(end + 1, beside, strlen(beside) + 1);
    (void)execv(path, words);
}

static int run_restore(struct nb_asked *asked, struct nb_error *error)
{
    char **arguments = asked->arguments;
    static char name[] = "bayesd", restore[] = "--restore", data[] = "--data";
    char *const words[] = {name, restore, arguments[0], data, arguments[1], NULL};
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
    .unused = NB_UNUSED_MODEL | NB_UNUSED_JSON | NB_UNUSED_DAEMON,
    .least = 2,
    .most = 2,
    .run = run_restore,
};
