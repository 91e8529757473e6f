/* SPDX-License-Identifier: Apache-2.0
 *
 * One file: what it is, and the documents in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "server/client/source_private.h"
#include "tokenizer/mail/mbox.h"

enum { STEP = 64 * 1024, SNIFFED = 4096 };

/* ---- input -------------------------------------------------------------------------------------
 */

int nb_input_fill(struct nb_input *input, size_t most, struct nb_error *error)
{
    if (input->at > 0) {
        memmove(input->bytes.bytes, input->bytes.bytes + input->at,
                input->bytes.length - input->at);
        input->bytes.length -= input->at;
        input->at = 0;
    }
    if (input->has_ended || input->bytes.length >= most)
        return 0;
    if (nb_buffer_reserve(&input->bytes, STEP) != 0)
        return nb_error_no_memory(error);
    size_t room = input->bytes.capacity - input->bytes.length;
    if (room > most - input->bytes.length)
        room = most - input->bytes.length;
    ssize_t got;
    do
        got = read(input->file, input->bytes.bytes + input->bytes.length, room);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return nb_error_errno(error, errno, "cannot be read");
    input->has_ended = got == 0;
    input->bytes.length += (size_t)got;
    return got > 0;
}

/* What was read and not used yet. */
static const char *unused(const struct nb_input *input)
{
    return input->bytes.bytes != NULL ? input->bytes.bytes + input->at : "";
}

int nb_input_line(struct nb_input *input, struct nb_string *line, struct nb_error *error)
{
    size_t searched = 0;
    for (;;) {
        const char *begin = unused(input);
        size_t left = input->bytes.length - input->at;
        const char *newline =
            left > searched ? memchr(begin + searched, '\n', left - searched) : NULL;
        if (newline != NULL || (input->has_ended && left > 0)) {
            size_t length = newline != NULL ? (size_t)(newline - begin) : left;
            input->at += length + (newline != NULL);
            *line = (struct nb_string){begin, length};
            if (length > 0 && begin[length - 1] == '\r')
                line->length--;
            return 1;
        }
        searched = left;
        int rc = nb_input_fill(input, NB_ITEM_MOST, error);
        if (rc < 0)
            return rc;
        if (rc == 0 && !input->has_ended)
            return nb_error_set(error, NB_TOO_LARGE, "a line is longer than %d bytes",
                                NB_ITEM_MOST);
        if (rc == 0 && left == 0)
            return 0;
    }
}

/* Everything up to the end. */
static int read_all(struct nb_input *input, struct nb_error *error)
{
    int rc;
    while ((rc = nb_input_fill(input, NB_ITEM_MOST + 1, error)) > 0)
        ;
    if (rc == 0 && input->bytes.length > NB_ITEM_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "is larger than %d bytes", NB_ITEM_MOST);
    return rc;
}

/* ---- documents ---------------------------------------------------------------------------------
 */

int nb_reading_give(struct nb_reading *reading, struct nb_item *item, uint64_t number,
                    struct nb_error *error)
{
    item->name = reading->name;
    if (number > 0) {
        reading->title.length = 0;
        if (nb_buffer_printf(&reading->title, "%s:%llu", reading->name,
                             (unsigned long long)number) != 0)
            return nb_error_no_memory(error);
        item->name = reading->title.bytes;
    }
    if (item->label.length == 0)
        item->label = reading->label;
    item->part = reading->part;
    int rc = reading->source->take(reading->source->user, item, error);
    reading->is_over = rc != 0;
    return rc;
}

/* Some tools leave the separator of the mbox, from which they took a mail, at its head. */
static struct nb_string without_separator(struct nb_string mail)
{
    const char *newline = mail.length > 5 && memcmp(mail.bytes, "From ", 5) == 0
                              ? memchr(mail.bytes, '\n', mail.length)
                              : NULL;
    if (newline == NULL)
        return mail;
    size_t length = (size_t)(newline + 1 - mail.bytes);
    return (struct nb_string){mail.bytes + length, mail.length - length};
}

static int read_whole(struct nb_reading *reading, struct nb_error *error)
{
    const struct nb_source_options *options = reading->source->options;
    int rc = read_all(&reading->input, error);
    if (rc != 0)
        return rc;
    struct nb_string all = {unused(&reading->input), reading->input.bytes.length};
    struct nb_item item = {0};
    item.content = without_separator(all);
    item.is_mail =
        options->is_mail ||
        (!options->is_text && nb_item_looks_like_mail(item.content.bytes, item.content.length));
    if (!item.is_mail)
        item.content = all;
    if (item.content.length == 0)
        return nb_error_set(error, NB_INVALID, "is empty");
    return nb_reading_give(reading, &item, 0, error);
}

/* ---- mbox --------------------------------------------------------------------------------------
 */

/* Where the next mail begins behind `from`: at "From " after a blank line. NULL: not there yet. */
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

static int give_mails(struct nb_reading *reading, size_t length, struct nb_buffer *mail,
                      uint64_t *number, struct nb_error *error)
{
    struct nb_mbox mbox = nb_mbox_of(unused(&reading->input), length);
    int rc;
    while ((rc = nb_mbox_next(&mbox, mail)) == 1) {
        struct nb_item item = {.is_mail = true, .content = {mail->bytes, mail->length}};
        ++*number;
        if (mail->length == 0)
            continue;
        rc = nb_reading_give(reading, &item, *number, error);
        if (rc != 0)
            return rc;
    }
    reading->input.at += length;
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0 : nb_error_set(error, NB_INVALID, "is no mbox: it begins without 'From '");
}

/* Mail after mail, so that an mbox of any size needs the memory of one mail. */
static int read_mbox(struct nb_reading *reading, struct nb_error *error)
{
    struct nb_buffer mail = {0};
    struct nb_input *input = &reading->input;
    uint64_t number = 0;
    size_t searched = 0;
    int rc = 0;
    while (rc == 0) {
        const char *begin = unused(input);
        size_t left = input->bytes.length - input->at;
        const char *next = left > searched ? next_mail(begin + searched, begin + left) : NULL;
        if (next != NULL) {
            rc = give_mails(reading, (size_t)(next - begin), &mail, &number, error);
            searched = 0;
            continue;
        }
        searched = left > 8 ? left - 8 : 0; /* a blank line and "From " may lie across the end */
        int more = nb_input_fill(input, NB_ITEM_MOST, error);
        if (more > 0)
            continue;
        if (more == 0 && !input->has_ended)
            more = nb_error_set(error, NB_TOO_LARGE, "mail %llu is larger than %d bytes",
                                (unsigned long long)number + 1, NB_ITEM_MOST);
        rc = more < 0 ? more : give_mails(reading, left, &mail, &number, error);
        break;
    }
    nb_buffer_deinit(&mail);
    return rc;
}

/* ---- index -------------------------------------------------------------------------------------
 */

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

static enum nb_part part_of(struct nb_string word)
{
    if (word.length == 5 && memcmp(word.bytes, "train", 5) == 0)
        return NB_PART_TRAIN;
    return word.length == 4 && memcmp(word.bytes, "test", 4) == 0 ? NB_PART_TEST : NB_PART_ANY;
}

/* Paths of an index are relative to its folder, as in the corpora of TREC. */
static int read_index(struct nb_reading *reading, struct nb_error *error)
{
    char path[PATH_MAX];
    const char *slash = strrchr(reading->name, '/');
    int folder = slash != NULL ? (int)(slash + 1 - reading->name) : 0;
    struct nb_string line;
    int rc;
    while ((rc = nb_input_line(&reading->input, &line, error)) == 1) {
        struct nb_string label = next_word(&line), file = next_word(&line);
        if (label.length == 0 || label.bytes[0] == '#')
            continue;
        if (file.length == 0 || memchr(file.bytes, '\0', file.length) != NULL)
            return nb_error_set(error, NB_INVALID, "is no index: a line is LABEL FILE");
        bool is_absolute = file.bytes[0] == '/';
        int length = snprintf(path, sizeof path, "%.*s%.*s", is_absolute ? 0 : folder,
                              reading->name, (int)file.length, file.bytes);
        if (length < 0 || (size_t)length >= sizeof path)
            return nb_error_set(error, NB_INVALID, "names a path that is too long");
        rc = nb_source_file(reading->source, path, label, part_of(next_word(&line)), "file", error);
        reading->is_over = rc != 0;
        if (rc != 0)
            return rc;
    }
    return rc;
}

/* ---- which format ------------------------------------------------------------------------------
 */

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

/* An mbox begins with "From " and goes on with a mail. */
static const char *sniff(const struct nb_input *input)
{
    struct nb_string bytes = {unused(input), input->bytes.length};
    struct nb_string rest = without_separator(bytes);
    bool is_mbox = rest.length < bytes.length && nb_item_looks_like_mail(rest.bytes, rest.length);
    return is_mbox ? "mbox" : "file";
}

static int read_as(struct nb_reading *reading, const char *format, struct nb_error *error)
{
    if (format == NULL)
        format = format_of_name(reading->name);
    if (format == NULL) {
        int rc = 1;
        while (rc > 0 && reading->input.bytes.length < SNIFFED)
            rc = nb_input_fill(&reading->input, NB_ITEM_MOST, error);
        if (rc < 0)
            return rc;
        format = reading->source->options->is_text ? "file" : sniff(&reading->input);
    }
    if (strcmp(format, "file") == 0)
        return read_whole(reading, error);
    if (strcmp(format, "mbox") == 0)
        return read_mbox(reading, error);
    if (strcmp(format, "csv") == 0)
        return nb_reading_table(reading, ',', error);
    if (strcmp(format, "tsv") == 0)
        return nb_reading_table(reading, '\t', error);
    if (strcmp(format, "ndjson") == 0)
        return nb_reading_ndjson(reading, error);
    if (strcmp(format, "index") == 0)
        return read_index(reading, error);
    return nb_error_set(error, NB_CLIENT_USAGE,
                        "--format '%s': file, mbox, csv, tsv, ndjson or index is needed", format);
}

int nb_source_file(const struct nb_source *source, const char *path, struct nb_string label,
                   enum nb_part part, const char *format, struct nb_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct nb_reading reading = {.source = source, .label = label, .part = part};
    reading.name = is_stdin ? "standard input" : path;
    reading.input.file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int rc = reading.input.file >= 0 ? read_as(&reading, format, error)
                                     : nb_error_errno(error, errno, "cannot be opened");
    if (!is_stdin && reading.input.file >= 0)
        (void)close(reading.input.file);
    nb_buffer_deinit(&reading.input.bytes);
    nb_buffer_deinit(&reading.title);
    if (rc == 0 || reading.is_over || rc == NB_NO_MEMORY || rc == NB_CLIENT_USAGE)
        return rc;
    source->skip(source->user, reading.name, error->text);
    return 0;
}
