/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/read_file.h"

#include <string.h>
#include <strings.h>

#include "server/client/files/formats.h"
#include "server/client/files/mail_look.h"
#include "tokenizer/mail/mail_file.h"

enum { SNIFFED = 4096 /* bytes that are looked at to find out the format */ };

static const char *format_of_name(const char *name)
{
    static const struct {
        const char *end, *format;
    } ENDS[] = {{".csv", "csv"}, {".tsv", "tsv"}, {".ndjson", "ndjson"}, {".jsonl", "ndjson"}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++) {
        size_t end = strlen(ENDS[i].end);
        if (length > end && strcasecmp(name + length - end, ENDS[i].end) == 0)
            return ENDS[i].format;
    }
    return NULL;
}

/* A file is an mbox when it begins with "From ", perhaps behind a byte order mark and empty lines,
 * and goes on with a mail. */
static const char *format_of_bytes(struct nb_string bytes)
{
    struct nb_buffer scratch = {0};
    struct nb_string lines, rest;
    bool is_mbox = false;
    if (nb_mail_file_lines(bytes, &scratch, &lines) == 0) {
        lines = nb_string_trim_start(lines, "\r\n");
        rest = nb_read_without_separator(lines);
        is_mbox = rest.length < lines.length && nb_looks_like_mail(rest.bytes, rest.length);
    }
    nb_buffer_deinit(&scratch);
    return is_mbox ? "mbox" : "file";
}

/* Returns the format of a stream, which has no name to tell it; --columns implies a table. */
static const char *format_of_stream(const struct nb_file_reading *reading)
{
    struct nb_string bytes = nb_input_unused(&reading->input);
    const char *end = bytes.length > 0 ? memchr(bytes.bytes, '\n', bytes.length) : NULL;
    size_t length = end == NULL ? bytes.length : (size_t)(end - bytes.bytes);
    bool is_wide =
        length > 0 && memchr(bytes.bytes, '\0', length) != NULL; /* UTF-16: not examined */
    return length > 0 && !is_wide && memchr(bytes.bytes, '\t', length) != NULL ? "tsv" : "csv";
}

static int find_format(struct nb_file_reading *reading, const char **format, struct nb_error *error)
{
    *format = format_of_name(reading->name);
    if (*format != NULL)
        return 0;
    int rc = 1;
    while (rc > 0 && nb_input_unused(&reading->input).length < SNIFFED)
        rc = nb_input_fill(&reading->input, NB_ITEM_MOST, error);
    if (rc < 0)
        return rc;
    if (reading->is_stream && reading->files->options->columns != NULL)
        *format = format_of_stream(reading);
    else if (reading->files->options->is_text)
        *format = "file";
    else
        *format = format_of_bytes(nb_input_unused(&reading->input));
    return 0;
}

static int read_as(struct nb_file_reading *reading, const char *format, struct nb_error *error)
{
    int rc = format == NULL ? find_format(reading, &format, error) : 0;
    if (rc != 0)
        return rc;
    if (strcmp(format, "file") == 0)
        return nb_read_whole(reading, error);
    if (strcmp(format, "mbox") == 0)
        return nb_read_mbox(reading, error);
    if (strcmp(format, "csv") == 0)
        return nb_read_table(reading, true, error);
    if (strcmp(format, "tsv") == 0)
        return nb_read_table(reading, false, error);
    if (strcmp(format, "ndjson") == 0)
        return nb_read_ndjson(reading, error);
    if (strcmp(format, "lines") == 0)
        return nb_read_lines(reading, error);
    if (strcmp(format, "index") == 0)
        return nb_read_index(reading, error);
    return nb_error_set(error, NB_CLIENT_USAGE,
                        "--format '%s': file, lines, mbox, csv, tsv, ndjson or index is needed",
                        format);
}

int nb_read_file(const struct nb_files *files, const char *path, struct nb_string label,
                 const char *format, struct nb_error *error)
{
    struct nb_file_reading reading;
    int rc = nb_file_reading_open(&reading, files, path, error);
    if (rc == 0)
        rc = nb_file_reading_set_label(&reading, label, error);
    if (rc == 0)
        rc = read_as(&reading, format, error);
    rc = nb_file_reading_result(&reading, rc, error);
    nb_file_reading_close(&reading);
    return rc;
}
