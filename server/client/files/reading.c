/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/names.h"
#include "server/client/base/client.h"

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
    nb_buffer_deinit(&reading->row_id);
}

/* ---- ids of rows ----------------------------------------------------------------------------- */

enum { STEP = 64 * 1024, HASH_BYTES = 16 };

/* Copies what is unread of a pipe into a temporary file, which takes its place. */
static int copy_pipe(struct nb_input *input, struct nb_error *error)
{
    int rc = 1, file = nb_temporary_file(error);
    while (rc > 0 && file >= 0) {
        struct nb_string piece = nb_input_unused(input);
        if (piece.length > 0 && write(file, piece.bytes, piece.length) != (ssize_t)piece.length)
            rc = nb_temporary_fault(errno, error);
        input->at = input->bytes.length;
        if (rc > 0)
            rc = nb_input_fill(input, STEP, error);
    }
    if (file < 0 || rc < 0 || lseek(file, 0, SEEK_SET) < 0) {
        if (file >= 0)
            (void)close(file); /* nothing in it is needed */
        return error->code;
    }
    if (input->is_owned)
        (void)close(input->file); /* only read from: no data is lost */
    input->file = file;
    input->is_owned = true;
    input->bytes.length = input->at = 0;
    input->has_ended = false;
    return 0;
}

int nb_file_reading_hash(struct nb_file_reading *reading, struct nb_error *error)
{
    const struct nb_files_options *options = reading->files->options;
    struct nb_input *input = &reading->input;
    unsigned char hash[HASH_BYTES], bytes[STEP];
    crypto_generichash_state state;
    ssize_t got;
    if (options->rows == NULL || options->row_source != NULL) {
        reading->rows_before = options->rows != NULL ? *options->rows : 0;
        return 0;
    }
    int rc = lseek(input->file, 0, SEEK_CUR) < 0 ? copy_pipe(input, error) : 0;
    if (rc != 0)
        return rc;
    off_t at = lseek(input->file, 0, SEEK_CUR) - (off_t)input->bytes.length;
    (void)crypto_generichash_init(&state, NULL, 0, sizeof hash); /* cannot fail */
    while ((got = pread(input->file, bytes, sizeof bytes, at)) > 0 || (got < 0 && errno == EINTR)) {
        (void)crypto_generichash_update(&state, bytes, got > 0 ? (size_t)got : 0);
        at += got > 0 ? got : 0;
    }
    (void)crypto_generichash_final(&state, hash, sizeof hash);
    (void)sodium_bin2hex(reading->hash, sizeof reading->hash, hash, sizeof hash);
    return got == 0 ? 0 : nb_error_errno(error, errno, "cannot be read");
}

static int set_row_id(struct nb_file_reading *reading, const char *source, uint64_t number,
                      struct nb_item *item, struct nb_error *error)
{
    reading->row_id.length = 0;
    if (nb_buffer_printf(&reading->row_id, "%s:%ju", source, (uintmax_t)number) != 0)
        return nb_error_no_memory(error);
    item->id = (struct nb_string){reading->row_id.bytes, reading->row_id.length};
    return 0;
}

int nb_file_reading_name_row(struct nb_file_reading *reading, uint64_t row, struct nb_item *item,
                             struct nb_error *error)
{
    const struct nb_files_options *options = reading->files->options;
    if (options->rows == NULL || item->id.length > 0 || item->is_mail)
        return 0;
    *options->rows = reading->rows_before + row;
    return set_row_id(reading, options->row_source != NULL ? options->row_source : reading->hash,
                      *options->rows, item, error);
}

int nb_file_reading_number_row(struct nb_file_reading *reading, uint64_t row, struct nb_item *item,
                               struct nb_error *error)
{
    return set_row_id(reading, reading->name, row, item, error);
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
    if (!charset->is_guessed && !charset->is_damaged)
        return;
    (void)snprintf(said, sizeof said,
                   charset->is_damaged
                       ? "some bytes are not UTF-8, and are read as windows-1252"
                       : "is not UTF-8, and is read as %s; --charset says otherwise",
                   charset->name); /* the text fits */
    files->tell(files->user, NB_FILE_REMARK, reading->name, said);
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

int nb_file_reading_fault(const struct nb_file_reading *reading, enum nb_file_news news, int rc,
                          const struct nb_error *error)
{
    bool ends_file = news == NB_FILE_REFUSED && (rc == NB_IO || rc == NB_STOPPING);
    if (rc == 0 || reading->is_over || rc == NB_NO_MEMORY || rc == NB_CLIENT_USAGE || ends_file)
        return rc;
    reading->files->tell(reading->files->user, news, reading->name, error->text);
    return 0;
}
