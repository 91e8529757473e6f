/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int nb_reading_open(struct nb_reading *reading, const struct nb_files *files, const char *path,
                    struct nb_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    *reading = (struct nb_reading){.files = files, .name = is_stdin ? "standard input" : path};
    reading->input.file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (reading->input.file < 0)
        return nb_error_errno(error, errno, "cannot be opened");
    reading->input.is_owned = !is_stdin;
    reading->is_stream = is_stdin || lseek(reading->input.file, 0, SEEK_CUR) < 0;
    return 0;
}

void nb_reading_close(struct nb_reading *reading)
{
    nb_input_deinit(&reading->input);
    nb_buffer_deinit(&reading->title);
}

int nb_reading_give(struct nb_reading *reading, struct nb_item *item, uint64_t number,
                    struct nb_error *error)
{
    item->name = reading->name;
    if (number > 0) {
        reading->title.length = 0;
        if (nb_buffer_printf(&reading->title, "%s:%ju", reading->name, (uintmax_t)number) != 0)
            return nb_error_no_memory(error);
        item->name = reading->title.bytes;
    }
    if (item->label.length == 0)
        item->label = reading->label;
    item->part = reading->part;
    int rc = reading->files->take(reading->files->user, item, error);
    reading->is_over = rc != 0;
    return rc;
}

int nb_reading_result(const struct nb_reading *reading, int rc, const struct nb_error *error)
{
    if (rc == 0 || reading->is_over || rc == NB_NO_MEMORY || rc == NB_CLIENT_USAGE)
        return rc;
    reading->files->skip(reading->files->user, reading->name, error->text);
    return 0;
}
