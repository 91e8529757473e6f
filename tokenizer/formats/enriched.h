/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of text/enriched (RFC 1896) and of its predecessor text/richtext (RFC 1341, 7.1.3). A
 * pure function; any thread.
 */
#ifndef NB_TOKENIZER_FORMATS_ENRICHED_H
#define NB_TOKENIZER_FORMATS_ENRICHED_H

#include "core/base/buffer.h"

/* Appends `text` without its commands, and without what stands in <param> and <comment>: colours,
 * fonts, remarks. A command ends no word. Never more bytes than before, in linear time. Returns 0
 * or NB_NO_MEMORY. */
int nb_enriched_to_text(struct nb_string text, struct nb_buffer *out);

#endif
