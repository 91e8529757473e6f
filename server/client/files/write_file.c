/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/write_file.h"

#include <errno.h>
#include <unistd.h>

#include "core/base/buffer.h"

static int finish(FILE *out, const char *temporary, const char *name, struct nb_error *error)
{
    bool is_written = fflush(out) == 0 && fsync(fileno(out)) == 0;
    int written_errno = errno;
    if (fclose(out) != 0 || !is_written)
        return nb_error_errno(error, is_written ? errno : written_errno, name);
    return rename(temporary, name) == 0 ? 0 : nb_error_errno(error, errno, name);
}

int nb_write_file(const char *name, nb_write_content *content, void *user, struct nb_error *error)
{
    struct nb_buffer temporary = {0};
    if (nb_buffer_printf(&temporary, "%s.part", name) != 0)
        return nb_error_no_memory(error);
    FILE *out = fopen(temporary.bytes, "we");
    int rc =
        out != NULL ? content(user, out, error) : nb_error_errno(error, errno, temporary.bytes);
    if (rc == 0)
        rc = finish(out, temporary.bytes, name, error);
    else if (out != NULL)
        (void)fclose(out); /* the file is removed */
    if (rc != 0 && out != NULL)
        (void)unlink(temporary.bytes);
    nb_buffer_deinit(&temporary);
    return rc;
}
