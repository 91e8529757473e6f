/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the charsets of documents to UTF-8, with iconv. Any thread.
 */
#ifndef NB_TOKENIZER_TEXT_CHARSET_H
#define NB_TOKENIZER_TEXT_CHARSET_H

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Appends `length` bytes in `charset` to `out` as UTF-8. `charset` is a MIME name in any case;
 * usual aliases are known. A byte order mark chooses the byte order of utf-16 and utf-32 and is
 * dropped. Bytes that are invalid in the charset become U+FFFD; the charset utf-8 is copied without
 * a check. Returns 0, NB_UNSUPPORTED (no such charset), NB_TOO_LARGE (the output exceeds `most`
 * bytes) or NB_NO_MEMORY. */
int nb_charset_to_utf8(struct nb_string charset, const char *bytes, size_t length, size_t most,
                       struct nb_buffer *out, struct nb_error *error);

#endif
