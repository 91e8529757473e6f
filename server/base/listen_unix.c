/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/listen_unix.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

/* Whether the file is a socket on which no process listens any more. */
static bool is_left_behind(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0)
        return false;
    bool is_refused =
        connect(file, (const struct sockaddr *)(const void *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED;
    (void)close(file); /* it was never used */
    return is_refused;
}

void nb_listen_unix_clear(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_left_behind(&address))
        (void)unlink(path); /* if it fails, so does bind */
}

int nb_listen_unix(const char *path, mode_t mode, int *made, struct nb_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct sockaddr *any = (const struct sockaddr *)(const void *)&address;
    if (strlen(path) >= sizeof address.sun_path)
        return nb_error_set(error, NB_INVALID, "the path of a socket has at most %zu bytes: %s",
                            sizeof address.sun_path - 1, path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    nb_listen_unix_clear(path);
    /* Until chmod only the owner may use it, by the program's umask. */
    if (file >= 0 && bind(file, any, sizeof address) == 0 && chmod(path, mode) == 0 &&
        listen(file, BACKLOG) == 0) {
        *made = file;
        return 0;
    }
    int rc = nb_error_set(error, NB_IO, "cannot listen on %s: %s", path, strerror(errno));
    if (file >= 0)
        (void)close(file); /* it was never used */
    return rc;
}
