/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the bytes of a file as they are needed. One thread.
 */
#ifndef NB_CLIENT_INPUT_H
#define NB_CLIENT_INPUT_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "tokenizer/decode.h"

struct nb_input {
    int file;               /* descriptor */
    bool is_owned;          /* nb_input_deinit closes it */
    struct nb_buffer bytes; /* owned; the bytes from `at` on are not used yet */
    size_t at;
    bool has_ended;
    bool is_decoded;                /* `bytes` are UTF-8, decoded from the file ... */
    struct nb_text_charset charset; /* ... which are in this charset */
    struct nb_buffer raw;           /* owned: bytes of the file that are not decoded yet */
    char line_end;                  /* CR; or NUL for LF, with or without a CR before it */
    bool had_cr;                    /* the last line ended with CR and LF */
};

/* Detects the charset and the line ends of a text file, goes back to its beginning and decodes it:
 * from then on its bytes are UTF-8. Call before any byte is used. `charset` is a name, or empty. A
 * file that can be read twice is first read to its end; if its bytes do not fit the given or
 * detected charset, NB_INVALID is returned before any byte is used. In a pipe the bytes that have
 * arrived decide; later bytes that are not UTF-8 are read as windows-1252. `is_quoted`: line ends
 * within double quotes do not count. `is_lenient`: bytes that fit no charset are read as
 * windows-1252, and NULs stay. Returns 0, NB_INVALID, NB_UNSUPPORTED (no such charset), NB_IO or
 * NB_NO_MEMORY. */
int nb_input_decode(struct nb_input *input, struct nb_string charset, bool is_quoted,
                    bool is_lenient, struct nb_error *error);

/* Opens the same file from its beginning in `other`, which borrows it. Returns false if the file
 * cannot be read twice. */
bool nb_input_again(const struct nb_input *input, struct nb_input *other);

/* Returns the bytes that were read and are not used yet. The pointer is never NULL. */
struct nb_string nb_input_unused(const struct nb_input *input);

/* Reads at least one byte more, but keeps at most `most` unused ones. Earlier results of
 * nb_input_unused are no longer valid. Returns 1, 0 when the file has ended or `most` bytes are
 * there, NB_IO or NB_NO_MEMORY. */
int nb_input_fill(struct nb_input *input, size_t most, struct nb_error *error);

/* Takes the next line, of at most `most` bytes, without its line feed and a CR before it; in a file
 * whose lines end in CR (nb_input_decode), without that CR. The line is valid until the next call.
 * Returns 1, 0 at the end of the file, NB_TOO_LARGE or a code of nb_input_fill. */
int nb_input_line(struct nb_input *input, size_t most, struct nb_string *line,
                  struct nb_error *error);

void nb_input_deinit(struct nb_input *input);

#endif
