/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/option_lines.h"

#include <stdio.h>
#include <string.h>

#include "core/base/ascii.h"

static int read_text(const char *path, struct nb_buffer *text, struct nb_error *error)
{
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return nb_error_set(error, NB_NOT_FOUND, "the file of options %.200s cannot be opened",
                            path);
    int rc = nb_buffer_reserve(text, NB_OPTION_LINES_MOST + 1);
    if (rc == 0)
        text->length = fread(text->bytes, 1, NB_OPTION_LINES_MOST + 1, in);
    bool is_broken = ferror(in) != 0;
    (void)fclose(in); /* was only read */
    if (rc != 0)
        return nb_error_no_memory(error);
    if (is_broken)
        return nb_error_set(error, NB_IO, "the file of options %.200s cannot be read", path);
    if (text->length > NB_OPTION_LINES_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "%.200s has over %d bytes", path,
                            NB_OPTION_LINES_MOST);
    if (memchr(text->bytes, '\0', text->length) != NULL)
        return nb_error_set(error, NB_INVALID, "%.200s has NUL bytes: it is no text", path);
    text->bytes[text->length] = '\0'; /* there is room for one byte more */
    return 0;
}

/* Cuts white space off both ends, in place. */
static char *trim(char *text)
{
    while (nb_ascii_is_space(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && nb_ascii_is_space(text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

static int take_line(char *line, nb_option_taker *take, void *user, struct nb_error *error)
{
    char *equals = strchr(line, '='), *value = NULL;
    if (equals != NULL) {
        *equals = '\0';
        value = trim(equals + 1);
    }
    char *name = trim(line);
    if (name[0] == '#' || (name[0] == '\0' && value == NULL))
        return 0;
    return take(user, name, value, error);
}

int nb_option_lines_read(const char *path, struct nb_buffer *text, nb_option_taker *take,
                         void *user, struct nb_error *error)
{
    int rc = read_text(path, text, error);
    char *line = text->bytes;
    for (unsigned number = 1; rc == 0 && *line != '\0'; number++) {
        char *next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        struct nb_error fault = {0};
        rc = take_line(line, take, user, &fault);
        if (rc != 0)
            return nb_error_set(error, rc, "%.200s:%u: %s", path, number, fault.text);
        line = next != NULL ? next : line + strlen(line);
    }
    return rc;
}
