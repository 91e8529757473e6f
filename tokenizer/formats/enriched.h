/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of text/enriched (RFC 1896) and of its predecessor text/richtext (RFC 1341, 7.1.3). A
 * pure function; any thread.
 */
#ifndef NB_TOKENIZER_FORMATS_ENRICHED_H
#define NB_TOKENIZER_FORMATS_ENRICHED_H

#include "core/base/buffer.h"

/* Appends `text` without its commands and without the contents of <param> and <comment>: colours,
 * fonts, remarks. A command does not end a word. Appends at most as many bytes as it reads, in
 * linear time. Returns 0 or NB_NO_MEMORY. */
int nb_enriched_to_text(struct nb_string text, struct nb_buffer *out);

#endif
