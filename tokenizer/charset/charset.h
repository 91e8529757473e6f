/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the charsets of documents to UTF-8, with iconv. Any thread.
 */
#ifndef NB_TOKENIZER_CHARSET_CHARSET_H
#define NB_TOKENIZER_CHARSET_CHARSET_H

#include <iconv.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "tokenizer/bag/bag_work.h"
#include "tokenizer/charset/charset_label.h"

enum {
    /* Units of work beside one for each byte that is read: for a call of iconv, and for opening a
     * charset, whose tables may have to be mapped. */
    NB_CHARSET_CALL = 96,
    NB_CHARSET_OPEN = 16384
};

/* The charset that was opened last, for texts that come in many pieces, and the work that they may
 * take. Starts with an empty name; belongs to one thread. */
struct nb_charset_state {
    iconv_t converter; /* of `name` if that is not ""; (iconv_t)-1: there is no such charset */
    char name[NB_CHARSET_NAME];
    struct nb_bag_work *work; /* borrowed */
};

/* Closes what is open. */
void nb_charset_state_deinit(struct nb_charset_state *state);

/* Appends `length` bytes in `charset` to `out` as UTF-8. `charset` is a label
 * (tokenizer/charset/charset_label.h); with one that says nothing, such as us-ascii, the bytes are
 * UTF-8 if they are valid, and else windows-1252. A byte order mark chooses the byte order of
 * utf-16 and utf-32 and is dropped. Bytes that are invalid in the charset become U+FFFD; behind
 * more of them than a text in this charset can have (1,000, and one in 32 bytes) the bytes are read
 * as windows-1252. The charset utf-8 is copied without a check. The time is linear in `length`,
 * whatever the bytes are. When the work is spent, no charset is opened any more, and the rest of a
 * text is read as windows-1252. `state` may be NULL: then the work has no other bound. Returns 0,
 * NB_UNSUPPORTED (no such charset), NB_TOO_LARGE (the output exceeds `most` bytes) or NB_NO_MEMORY.
 */
int nb_charset_to_utf8(struct nb_charset_state *state, struct nb_string charset, const char *bytes,
                       size_t length, size_t most, struct nb_buffer *out, struct nb_error *error);

/* Appends a text in UTF-8 to `out` in `charset`, a label as above, of which one that says
 * nothing is UTF-8; UTF-16 and UTF-32 without a byte
 * order mark. Returns 0, NB_UNSUPPORTED (no such charset), NB_INVALID (a character is not in it) or
 * NB_NO_MEMORY. */
int nb_charset_from_utf8(struct nb_string charset, struct nb_string text, struct nb_buffer *out,
                         struct nb_error *error);

#endif
