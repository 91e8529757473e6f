/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "server/client/files/formats.h"

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
        rc = nb_read_whole(&listed, error);
    rc = nb_file_reading_result(&listed, rc, error);
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

int nb_read_index(struct nb_file_reading *reading, struct nb_error *error)
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
