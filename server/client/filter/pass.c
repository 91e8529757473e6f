/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/filter/pass.h"

#include <errno.h>
#include <unistd.h>

#include "core/base/error.h"
#include "server/client/files/files.h"

enum { STEP = 256 * 1024 /* bytes of one read */ };

int nb_pass_write(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, length);
        if (written < 0 && errno != EINTR)
            return NB_IO;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

/* Reads once. Returns 1, 0 at the end, or NB_IO. */
static int read_some(char *bytes, size_t room, size_t *got)
{
    ssize_t count;
    do
        count = read(STDIN_FILENO, bytes, room);
    while (count < 0 && errno == EINTR);
    *got = count > 0 ? (size_t)count : 0;
    return count < 0 ? NB_IO : count > 0;
}

int nb_pass_read(struct nb_buffer *mail)
{
    while (mail->length < NB_ITEM_MOST) {
        size_t got;
        if (nb_buffer_reserve(mail, STEP) != 0)
            return 1;
        int rc = read_some(mail->bytes + mail->length, mail->capacity - mail->length, &got);
        if (rc <= 0)
            return rc;
        mail->length += got;
    }
    return 1;
}

int nb_pass_copy(void)
{
    char bytes[16 * 1024];
    size_t got;
    int rc;
    while ((rc = read_some(bytes, sizeof bytes, &got)) == 1) {
        rc = nb_pass_write(bytes, got);
        if (rc != 0)
            return rc;
    }
    return rc;
}
