/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc restore: puts a backup into an empty data directory. Only the daemon's program can, and
 * with no daemon running on that directory; so this becomes that program.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "server/client/commands/commands.h"

enum { PATH_ROOM = 4096 };

/* Runs bayesd from a place beside this program. Returns only if it is not there. */
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
