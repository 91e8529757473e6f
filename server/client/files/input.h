/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a file, read as they are needed. One thread.
 */
#ifndef NB_CLIENT_INPUT_H
#define NB_CLIENT_INPUT_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "tokenizer/charset/decode.h"

struct nb_input {
    int file;               /* descriptor */
    bool is_owned;          /* nb_input_deinit closes it */
    struct nb_buffer bytes; /* owned; the bytes from `at` on are not used yet */
    size_t at;
    bool has_ended;
    bool is_decoded;                /* `bytes` are UTF-8, made of those of the file ... */
    struct nb_text_charset charset; /* ... which are in this charset */
    struct nb_buffer raw;           /* owned: bytes of the file that are not decoded yet */
    char line_end;                  /* CR, or NUL: LF, with or without a CR before it */
    bool had_cr;                    /* the last line ended with CR and LF */
};

/* Finds out the charset and the line ends of a file of text, and begins it again, decoded: from
 * then on its bytes are UTF-8. To be called before anything is used. `charset`: a name, or empty. A
 * file that can be read twice is read to its end first, and NB_INVALID is returned if it is not
 * what it says or seems to be: nothing was used then. Of a pipe the bytes that have come tell; what
 * is not UTF-8 behind them is read as windows-1252. `is_quoted`: line ends within double quotes are
 * no line ends. `is_lenient`: bytes that fit no charset are read as windows-1252, and NULs stay.
 * Returns 0, NB_INVALID, NB_UNSUPPORTED (no such charset), NB_IO or NB_NO_MEMORY. */
int nb_input_decode(struct nb_input *input, struct nb_string charset, bool is_quoted,
                    bool is_lenient, struct nb_error *error);

/* Begins the file again in `other`, which borrows it. False: it cannot be read twice. */
bool nb_input_again(const struct nb_input *input, struct nb_input *other);

/* The bytes that were read and are not used yet: at least one NUL-free pointer, never NULL. */
struct nb_string nb_input_unused(const struct nb_input *input);

/* Reads at least one byte more, but keeps at most `most` unused ones. What nb_input_unused gave
 * before is no longer valid. Returns 1, 0 when the file has ended or `most` bytes are there, NB_IO
 * or NB_NO_MEMORY. */
int nb_input_fill(struct nb_input *input, size_t most, struct nb_error *error);

/* Takes the next line, of at most `most` bytes, without its line feed and a CR before it, or, of a
 * file of such lines (nb_input_decode), without its CR. The line
 * is valid until the next call. Returns 1, 0 at the end of the file, NB_TOO_LARGE or a code of
 * nb_input_fill. */
int nb_input_line(struct nb_input *input, size_t most, struct nb_string *line,
                  struct nb_error *error);

void nb_input_deinit(struct nb_input *input);

#endif
