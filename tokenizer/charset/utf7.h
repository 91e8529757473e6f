/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-7 (RFC 2152) to UTF-8. Pure functions; any thread.
 *
 * iconv is not used: at a surrogate without a partner, glibc reads on, fails when it writes UTF-8,
 * and goes back, so a text of such surrogates took 14 s for each megabyte. And after an unpaired
 * first surrogate it refuses every byte that follows.
 */
#ifndef NB_TOKENIZER_CHARSET_UTF7_H
#define NB_TOKENIZER_CHARSET_UTF7_H

#include "core/base/buffer.h"

/* Appends the text as UTF-8, in time linear in `length`. A surrogate without its partner and a byte
 * above 127 become U+FFFD; a '+' that begins nothing stands for itself. Returns 0, NB_TOO_LARGE
 * (out->length would exceed `most`; then out holds a part) or NB_NO_MEMORY. */
int nb_utf7_to_utf8(const char *bytes, size_t length, size_t most, struct nb_buffer *out);

#endif
