/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/systemd.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/error.h"

static int datagram_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* Sends a datagram to the socket at `path`; a leading '@' means the abstract namespace. */
static int send_to(int file, const char *path, const char *bytes, size_t length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof address.sun_path)
        return NB_INVALID;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    /* An abstract name ends with the address, not with a NUL. */
    socklen_t whole = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    ssize_t sent =
        sendto(file, bytes, length, MSG_NOSIGNAL, (const struct sockaddr *)&address, whole);
    return sent == (ssize_t)length ? 0 : NB_IO;
}

void nb_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    int file = path != NULL ? datagram_socket() : -1;
    if (file < 0)
        return;
    (void)send_to(file, path, state, strlen(state)); /* failures are ignored (systemd.h) */
    (void)close(file);
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* Set once at start-up, read by all threads afterwards. */
static int journal = -1;

/* systemd.exec(5): JOURNAL_STREAM has the device and inode of the stream that the journal reads.
 * They are compared, because standard error may have been redirected since. */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    unsigned long long device, inode;
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

bool nb_journal_open(void)
{
    bool is_there = is_journal();
    if (is_there && journal < 0)
        journal = datagram_socket();
    return is_there;
}

/* The journal's native protocol: a line NAME=value, or where the value has a line feed itself, the
 * name, a line feed, the length as 64 bits, little-endian, the value, a line feed. */
int nb_journal_field(struct nb_buffer *entry, const char *name, struct nb_string value)
{
    struct nb_packer w = {.out = entry};
    bool is_line = value.length == 0 || memchr(value.bytes, '\n', value.length) == NULL;
    nb_pack_bytes(&w, name, strlen(name));
    nb_pack_u8(&w, is_line ? '=' : '\n');
    if (!is_line)
        nb_pack_u64(&w, value.length);
    nb_pack_bytes(&w, value.bytes, value.length);
    nb_pack_u8(&w, '\n');
    return w.code;
}

int nb_journal_send(const struct nb_buffer *entry)
{
    return send_to(journal, "/run/systemd/journal/socket", entry->bytes, entry->length);
}
