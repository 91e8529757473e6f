/* SPDX-License-Identifier: Apache-2.0
 *
 * NDJSON: splits a body that arrives in pieces into lines. A splitter belongs to one thread at a
 * time; it holds at most one unfinished line, and nothing of a line over its limit.
 */
#ifndef NB_SERVER_BASE_NDJSON_H
#define NB_SERVER_BASE_NDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct nb_ndjson_line {
    struct nb_string text; /* without the line feed; valid until the next call */
    uint64_t number;       /* from 1 */
    bool is_too_long;      /* over the limit: skipped, `text` is empty */
};

struct nb_splitter {
    size_t most;           /* bytes of a line without its line feed */
    struct nb_buffer rest; /* the beginning of a line whose end has not come yet */
    bool is_skipping;      /* inside a line that is too long */
    bool is_given;         /* `rest` was handed out and is to be emptied */
    uint64_t number;
};

void nb_splitter_init(struct nb_splitter *splitter, size_t most);
void nb_splitter_deinit(struct nb_splitter *splitter);

/* Takes bytes from the front of `input` up to the end of a line. Returns 1 with the line, 0 when
 * all input was taken and no line is complete, or NB_NO_MEMORY. Lines of only white space are
 * skipped but counted. A line that lies wholly in `input` is not copied. */
int nb_splitter_next(struct nb_splitter *splitter, struct nb_string *input,
                     struct nb_ndjson_line *line);

/* Call it after the last input. Returns 1 with a last line that had no line feed, or 0. */
int nb_splitter_last(struct nb_splitter *splitter, struct nb_ndjson_line *line);

/* Returns the hint that the daemon and bayesc add to a message of jansson that does not say what
 * would be right. `fault` is the text of a json_error_t. The hint is a constant, "" in most cases.
 * For half a surrogate pair (RFC 8259, section 7) it says that the character was cut. Any thread.
 */
const char *nb_json_fault_hint(const char *fault);

#endif
