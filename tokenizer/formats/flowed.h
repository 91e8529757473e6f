/* SPDX-License-Identifier: Apache-2.0
 *
 * The paragraphs of text/plain with format=flowed and delsp=yes (RFC 3676). A pure function; any
 * thread.
 */
#ifndef NB_TOKENIZER_FORMATS_FLOWED_H
#define NB_TOKENIZER_FORMATS_FLOWED_H

#include "core/base/buffer.h"

/* Appends `text`, which is UTF-8, with the lines of each paragraph joined: a line that ends with a
 * blank continues in the next line of the same quoting depth, and the blank is dropped. Appends at
 * most as many bytes as it reads, in linear time. Returns 0 or NB_NO_MEMORY. */
int nb_flowed_to_text(struct nb_string text, struct nb_buffer *out);

#endif
