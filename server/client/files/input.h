/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a file, read as they are needed. One thread.
 */
#ifndef NB_CLIENT_INPUT_H
#define NB_CLIENT_INPUT_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_input {
    int file;               /* descriptor */
    bool is_owned;          /* nb_input_deinit closes it */
    struct nb_buffer bytes; /* owned; the bytes from `at` on are not used yet */
    size_t at;
    bool has_ended;
};

/* The bytes that were read and are not used yet: at least one NUL-free pointer, never NULL. */
struct nb_string nb_input_unused(const struct nb_input *input);

/* Reads at least one byte more, but keeps at most `most` unused ones. What nb_input_unused gave
 * before is no longer valid. Returns 1, 0 when the file has ended or `most` bytes are there, NB_IO
 * or NB_NO_MEMORY. */
int nb_input_fill(struct nb_input *input, size_t most, struct nb_error *error);

/* Takes the next line, of at most `most` bytes, without its line feed and a CR before it. The line
 * is valid until the next call. Returns 1, 0 at the end of the file, NB_TOO_LARGE or a code of
 * nb_input_fill. */
int nb_input_line(struct nb_input *input, size_t most, struct nb_string *line,
                  struct nb_error *error);

void nb_input_deinit(struct nb_input *input);

#endif
