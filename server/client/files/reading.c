/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/label.h"

int nb_file_reading_open(struct nb_file_reading *reading, const struct nb_files *files,
                         const char *path, struct nb_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    *reading = (struct nb_file_reading){.files = files, .name = is_stdin ? "standard input" : path};
    reading->input.file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (reading->input.file < 0)
        return nb_error_errno(error, errno, "cannot be opened");
    reading->input.is_owned = !is_stdin;
    reading->is_stream = is_stdin || lseek(reading->input.file, 0, SEEK_CUR) < 0;
    return 0;
}

int nb_file_reading_set_label(struct nb_file_reading *reading, struct nb_string label,
                              struct nb_error *error)
{
    reading->label = label;
    return nb_label_normalize(&reading->label, &reading->own_label) == 0
               ? 0
               : nb_error_no_memory(error);
}

void nb_file_reading_close(struct nb_file_reading *reading)
{
    nb_input_deinit(&reading->input);
    nb_buffer_deinit(&reading->title);
    nb_buffer_deinit(&reading->given_label);
    nb_buffer_deinit(&reading->own_label);
}

int nb_file_reading_give(struct nb_file_reading *reading, struct nb_item *item, uint64_t number,
                         struct nb_error *error)
{
    item->name = reading->name;
    if (number > 0) {
        reading->title.length = 0;
        if (nb_buffer_printf(&reading->title, "%s:%ju", reading->name, (uintmax_t)number) != 0)
            return nb_error_no_memory(error);
        item->name = reading->title.bytes;
    }
    if (nb_label_normalize(&item->label, &reading->given_label) != 0)
        return nb_error_no_memory(error);
    if (item->label.length == 0)
        item->label = reading->label;
    if (nb_label_is_lossy(item->label))
        return nb_error_set(error, NB_INVALID,
                            "%s: the label '%.*s' has U+FFFD, which stands for bytes that were "
                            "lost in a wrong charset: write the file anew from its source",
                            item->name, (int)item->label.length, item->label.bytes);
    item->part = reading->part;
    int rc = reading->files->take(reading->files->user, item, error);
    reading->is_over = rc != 0;
    return rc;
}

void nb_file_reading_tell_charset(const struct nb_file_reading *reading,
                                  const struct nb_text_charset *charset)
{
    const struct nb_files *files = reading->files;
    char said[160];
    if (files->note == NULL || (!charset->is_guessed && !charset->is_damaged))
        return;
    (void)snprintf(said, sizeof said,
                   charset->is_damaged
                       ? "some bytes are not UTF-8, and are read as windows-1252"
                       : "is not UTF-8, and is read as %s; --charset says otherwise",
                   charset->name); /* the text fits */
    files->note(files->user, reading->name, said);
}

int nb_file_reading_decode(struct nb_file_reading *reading, bool is_quoted, struct nb_error *error)
{
    const struct nb_files_options *options = reading->files->options;
    int rc =
        nb_input_decode(&reading->input, nb_string_of(options->charset), is_quoted, false, error);
    if (rc == 0)
        nb_file_reading_tell_charset(reading, &reading->input.charset);
    return rc;
}

int nb_file_reading_refuse(const struct nb_file_reading *reading, int rc,
                           const struct nb_error *error)
{
    const struct nb_files *files = reading->files;
    if (rc == 0 || reading->is_over || rc == NB_NO_MEMORY || rc == NB_CLIENT_USAGE || rc == NB_IO ||
        rc == NB_STOPPING)
        return rc;
    (files->refuse != NULL ? files->refuse : files->skip)(files->user, reading->name, error->text);
    return 0;
}

int nb_file_reading_result(const struct nb_file_reading *reading, int rc,
                           const struct nb_error *error)
{
    if (rc == 0 || reading->is_over || rc == NB_NO_MEMORY || rc == NB_CLIENT_USAGE)
        return rc;
    reading->files->skip(reading->files->user, reading->name, error->text);
    return 0;
}
