/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/read_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/string.h"
#include "server/client/files/reading.h"
#include "tokenizer/decode.h"
#include "tokenizer/mail_file.h"

bool nb_looks_like_mail(const char *bytes, size_t length)
{
    struct nb_buffer scratch = {0};
    struct nb_string mail;
    bool looks = nb_mail_of_file((struct nb_string){bytes, length}, &scratch, &mail) == 0 &&
                 nb_mail_file_has_head(mail);
    nb_buffer_deinit(&scratch);
    return looks;
}

/* Returns whether the byte is a control character, but neither white space nor backspace nor a
 * shift or escape of ISO 2022. */
static bool is_stray(unsigned char byte)
{
    return byte < '\b' || (byte > 0x0f && byte < ' ' && byte != 0x1b) || byte == 0x7f;
}

bool nb_looks_binary(const char *bytes, size_t length)
{
    size_t stray = 0;
    for (size_t i = 0; i < length; i++)
        stray += is_stray((unsigned char)bytes[i]);
    return stray > length / 16;
}

/* Returns `mail` without the line "From ..." that some tools leave at the head of a mail from an
 * mbox. */
static struct nb_string read_without_separator(struct nb_string mail)
{
    const char *end = mail.bytes + mail.length;
    if (!nb_lines_is_separator(mail.bytes, end) || memchr(mail.bytes, '\n', mail.length) == NULL)
        return mail;
    return nb_string_from(mail, (size_t)(nb_lines_next(mail.bytes, end) - mail.bytes));
}

/* Reads everything up to the end of the file. */
static int read_all(struct nb_input *input, struct nb_error *error)
{
    int rc;
    while ((rc = nb_input_fill(input, NB_ITEM_MOST + 1, error)) > 0)
        ; /* the buffer keeps all bytes */
    if (rc == 0 && input->bytes.length > NB_ITEM_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "is larger than %d bytes", NB_ITEM_MOST);
    return rc;
}

/* Refuses binary data: it would teach garbage, and is most likely not a document. */
static int check_text(struct nb_string text, struct nb_error *error)
{
    if (nb_looks_binary(text.bytes, text.length))
        return nb_error_set(error, NB_INVALID,
                            "is binary, neither a text nor a mail (--text reads it all the same)");
    return 0;
}

static int give_text(struct nb_file_reading *reading, struct nb_string all, struct nb_error *error)
{
    const struct nb_files_options *options = reading->files->options;
    struct nb_buffer decoded = {0};
    struct nb_text_charset charset;
    int rc = nb_text_decode_whole(&all, nb_string_of(options->charset), 4 * (size_t)NB_ITEM_MOST,
                                  &decoded, &charset, error);
    if (rc == 0 && !options->is_text)
        rc = check_text(all, error);
    struct nb_item item = {.content = all};
    if (rc == 0) {
        nb_file_reading_tell_charset(reading, &charset);
        rc = nb_file_reading_give(reading, &item, 0, error);
    }
    nb_buffer_deinit(&decoded);
    return rc;
}

/* Reads each line that is not blank as a text. */
static int read_lines(struct nb_file_reading *reading, struct nb_error *error)
{
    struct nb_string line;
    uint64_t number = 0, given = 0;
    int rc = nb_file_reading_decode(reading, false, error);
    while (rc == 0 && (rc = nb_input_line(&reading->input, NB_ITEM_MOST, &line, error)) == 1) {
        struct nb_item item = {.content = line};
        number++;
        bool is_blank = nb_string_trim(line).length == 0;
        given += !is_blank;
        rc = is_blank ? 0 : nb_file_reading_give(reading, &item, number, error);
    }
    return rc == 0 && given == 0 ? nb_error_set(error, NB_INVALID, "is empty") : rc;
}

/* Reads the whole file as one document, a mail or a text. */
static int read_whole(struct nb_file_reading *reading, struct nb_error *error)
{
    const struct nb_files_options *options = reading->files->options;
    int rc = read_all(&reading->input, error);
    if (rc != 0)
        return rc;
    struct nb_string all = nb_input_unused(&reading->input);
    struct nb_item item = {0};
    item.content = read_without_separator(all);
    item.is_mail =
        options->is_mail ||
        (!options->is_text && nb_looks_like_mail(item.content.bytes, item.content.length));
    if (!item.is_mail)
        item.content = all;
    if (item.content.length == 0)
        return nb_error_set(error, NB_INVALID, "is empty");
    if (!item.is_mail)
        return give_text(reading, all, error);
    return nb_file_reading_give(reading, &item, 0, error);
}

enum { LOOKED_AT = 4096 /* bytes examined for the line ends */ };

/* Returns the beginning of the next mail after `from`: "From " after an empty line. NULL if it has
 * not been read yet. */
static const char *next_mail(const char *from, const char *end)
{
    for (const char *p = from; (p = memmem(p, (size_t)(end - p), "\nFrom ", 6)) != NULL; p++) {
        bool is_blank =
            p > from && (p[-1] == '\n' || (p - 1 > from && p[-1] == '\r' && p[-2] == '\n'));
        if (is_blank)
            return p + 1;
    }
    return NULL;
}

/* Passes on the mails of an mbox or a part of one. */
static int give_mails(struct nb_file_reading *reading, struct nb_string bytes,
                      struct nb_buffer *mail, uint64_t *number, struct nb_error *error)
{
    struct nb_mbox mbox = nb_mbox_of(bytes.bytes, bytes.length);
    int rc;
    while ((rc = nb_mbox_next(&mbox, mail)) == 1) {
        struct nb_item item = {.is_mail = true, .content = {mail->bytes, mail->length}};
        ++*number;
        if (mail->length == 0)
            continue;
        rc = nb_file_reading_give(reading, &item, *number, error);
        if (rc != 0)
            return rc;
    }
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0
               ? 0
               : nb_error_set(error, NB_INVALID, "is not an mbox: it does not begin with 'From '");
}

/* Passes on the mails in the next `length` bytes of the input, and consumes these bytes. */
static int give_next(struct nb_file_reading *reading, size_t length, struct nb_buffer *mail,
                     uint64_t *number, struct nb_error *error)
{
    struct nb_string bytes = {nb_input_unused(&reading->input).bytes, length};
    int rc = give_mails(reading, bytes, mail, number, error);
    if (rc == 0)
        reading->input.at += length;
    return rc;
}

/* Reads an mbox in UTF-16 or with lines that end with CR alone. Converts the whole file at once. */
static int read_converted(struct nb_file_reading *reading, struct nb_error *error)
{
    struct nb_input *input = &reading->input;
    struct nb_buffer out = {0}, mail = {0};
    struct nb_string lines = {0};
    uint64_t number = 0;
    int rc;
    while ((rc = nb_input_fill(input, NB_ITEM_MOST + 1, error)) > 0)
        ; /* the buffer keeps all bytes */
    if (rc == 0 && input->bytes.length > NB_ITEM_MOST)
        rc = nb_error_set(error, NB_TOO_LARGE,
                          "is larger than %d bytes, and an mbox of this size needs lines that end "
                          "with LF, and no UTF-16",
                          NB_ITEM_MOST);
    if (rc == 0 && nb_mail_file_lines(nb_input_unused(input), &out, &lines) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = give_mails(reading, lines, &mail, &number, error);
    nb_buffer_deinit(&out);
    nb_buffer_deinit(&mail);
    return rc;
}

/* Sets *needs if the beginning of the input is UTF-16, or has lines that end with CR alone. Drops a
 * byte order mark of UTF-8. */
static int needs_conversion(struct nb_input *input, bool *needs, struct nb_error *error)
{
    struct nb_buffer out = {0};
    struct nb_string begin, lines = {0};
    int rc = 1;
    while (rc > 0 && nb_input_unused(input).length < LOOKED_AT)
        rc = nb_input_fill(input, NB_ITEM_MOST, error);
    if (rc < 0)
        return rc;
    begin = nb_input_unused(input);
    begin.length = begin.length < LOOKED_AT ? begin.length : LOOKED_AT;
    rc = nb_mail_file_lines(begin, &out, &lines);
    *needs = out.length > 0;
    if (rc == 0 && !*needs)
        input->at += begin.length - lines.length;
    nb_buffer_deinit(&out);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Reads mails, each of which follows a line that begins with "From ". Passes on mail after mail: an
 * mbox of any size needs the memory of one mail. */
static int read_mbox(struct nb_file_reading *reading, struct nb_error *error)
{
    struct nb_buffer mail = {0};
    struct nb_input *input = &reading->input;
    uint64_t number = 0;
    size_t searched = 0;
    bool needs = false;
    int rc = needs_conversion(input, &needs, error);
    if (needs)
        return read_converted(reading, error);
    while (rc == 0) {
        const char *begin = nb_input_unused(input).bytes;
        size_t left = nb_input_unused(input).length;
        const char *next = left > searched ? next_mail(begin + searched, begin + left) : NULL;
        if (next != NULL) {
            rc = give_next(reading, (size_t)(next - begin), &mail, &number, error);
            searched = 0;
            continue;
        }
        searched = left > 8 ? left - 8 : 0; /* "\r\n\nFrom " may lie across the end */
        int more = nb_input_fill(input, NB_ITEM_MOST, error);
        if (more > 0)
            continue;
        if (more == 0 && !input->has_ended)
            more = nb_error_set(error, NB_TOO_LARGE, "mail %ju is larger than %d bytes",
                                (uintmax_t)number + 1, NB_ITEM_MOST);
        rc = more < 0 ? more : give_next(reading, left, &mail, &number, error);
        break;
    }
    nb_buffer_deinit(&mail);
    return rc;
}

static struct nb_string next_word(struct nb_string *line)
{
    size_t at = 0;
    while (at < line->length && (line->bytes[at] == ' ' || line->bytes[at] == '\t'))
        at++;
    size_t begin = at;
    while (at < line->length && line->bytes[at] != ' ' && line->bytes[at] != '\t')
        at++;
    struct nb_string word = {line->bytes + begin, at - begin};
    *line = (struct nb_string){line->bytes + at, line->length - at};
    return word;
}

static enum nb_item_part part_of(struct nb_string word)
{
    if (nb_string_equals(word, "train"))
        return NB_ITEM_TRAIN;
    return nb_string_equals(word, "test") ? NB_ITEM_TEST : NB_ITEM_ANY;
}

/* Reads one file of the list. A fault of that file is reported, and the list goes on. */
static int read_listed(struct nb_file_reading *reading, const char *path, struct nb_string label,
                       enum nb_item_part part, struct nb_error *error)
{
    struct nb_file_reading listed;
    int rc = nb_file_reading_open(&listed, reading->files, path, error);
    listed.label = label;
    listed.part = part;
    if (rc == 0)
        rc = read_whole(&listed, error);
    rc = nb_file_reading_fault(&listed, NB_FILE_UNREAD, rc, error);
    reading->is_over = rc != 0;
    nb_file_reading_close(&listed);
    return rc;
}

/* Makes the path of a listed file from the name of the list. */
static int path_of(const char *list, struct nb_string file, char path[PATH_MAX],
                   struct nb_error *error)
{
    const char *slash = strrchr(list, '/');
    int folder = slash != NULL && file.bytes[0] != '/' ? (int)(slash + 1 - list) : 0;
    int length = snprintf(path, PATH_MAX, "%.*s%.*s", folder, list, (int)file.length, file.bytes);
    if (length < 0 || length >= PATH_MAX)
        return nb_error_set(error, NB_INVALID, "names a path that is too long");
    return 0;
}

/* Reads the files of a list with one file a line: LABEL FILE [train|test]. Relative paths begin at
 * the folder of the list, as in the corpora of TREC. */
static int read_index(struct nb_file_reading *reading, struct nb_error *error)
{
    char path[PATH_MAX];
    struct nb_string line;
    int rc;
    while ((rc = nb_input_line(&reading->input, NB_ITEM_MOST, &line, error)) == 1) {
        struct nb_string label = next_word(&line), file = next_word(&line);
        if (label.length == 0 || label.bytes[0] == '#')
            continue;
        if (file.length == 0 || memchr(file.bytes, '\0', file.length) != NULL)
            return nb_error_set(error, NB_INVALID, "is not an index: a line is LABEL FILE");
        rc = path_of(reading->name, file, path, error);
        if (rc == 0)
            rc = read_listed(reading, path, label, part_of(next_word(&line)), error);
        if (rc != 0)
            return rc;
    }
    return rc;
}

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

/* A file is an mbox when it begins with "From ", perhaps after a byte order mark and empty lines,
 * and a mail follows. */
static const char *format_of_bytes(struct nb_string bytes)
{
    struct nb_buffer scratch = {0};
    struct nb_string lines, rest;
    bool is_mbox = false;
    if (nb_mail_file_lines(bytes, &scratch, &lines) == 0) {
        lines = nb_string_trim_start(lines, "\r\n");
        rest = read_without_separator(lines);
        is_mbox = rest.length < lines.length && nb_looks_like_mail(rest.bytes, rest.length);
    }
    nb_buffer_deinit(&scratch);
    return is_mbox ? "mbox" : "file";
}

/* Returns the format of a stream, which has no telling name; --columns implies a table. */
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
        return read_whole(reading, error);
    if (strcmp(format, "mbox") == 0)
        return read_mbox(reading, error);
    if (strcmp(format, "csv") == 0)
        return nb_read_table(reading, true, error);
    if (strcmp(format, "tsv") == 0)
        return nb_read_table(reading, false, error);
    if (strcmp(format, "ndjson") == 0)
        return nb_read_ndjson(reading, error);
    if (strcmp(format, "lines") == 0)
        return read_lines(reading, error);
    if (strcmp(format, "index") == 0)
        return read_index(reading, error);
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
    rc = nb_file_reading_fault(&reading, NB_FILE_UNREAD, rc, error);
    nb_file_reading_close(&reading);
    return rc;
}
