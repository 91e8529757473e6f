/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { STEP = 64 * 1024 };

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

struct nb_string nb_input_unused(const struct nb_input *input)
{
    const char *bytes = input->bytes.bytes != NULL ? input->bytes.bytes + input->at : "";
    return (struct nb_string){bytes, input->bytes.length - input->at};
}

int nb_input_line(struct nb_input *input, size_t most, struct nb_string *line,
                  struct nb_error *error)
{
    size_t searched = 0;
    for (;;) {
        const char *begin = nb_input_unused(input).bytes;
        size_t left = nb_input_unused(input).length;
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
        int rc = nb_input_fill(input, most, error);
        if (rc < 0)
            return rc;
        if (rc == 0 && !input->has_ended)
            return nb_error_set(error, NB_TOO_LARGE, "a line is longer than %zu bytes", most);
        if (rc == 0 && left == 0)
            return 0;
    }
}

void nb_input_deinit(struct nb_input *input)
{
    if (input->is_owned)
        (void)close(input->file); /* was only read */
    nb_buffer_deinit(&input->bytes);
}
