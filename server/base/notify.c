/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void nb_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path != NULL ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') /* a name in the abstract namespace, unix(7) */
        address.sun_path[0] = '\0';
    int socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    const struct sockaddr *to = (const struct sockaddr *)&address;
    (void)sendto(socket_, state, strlen(state), MSG_NOSIGNAL, to, size); /* see the header */
    (void)close(socket_);
}
