/* SPDX-License-Identifier: Apache-2.0
 *
 * Extracts the text of RTF (Microsoft, Rich Text Format Specification 1.9.1). Any thread; a charset
 * state belongs to one.
 */
#ifndef NB_TOKENIZER_FORMATS_RTF_H
#define NB_TOKENIZER_FORMATS_RTF_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "tokenizer/charset/charset.h"

/* Whether a text begins like RTF. */
bool nb_rtf_sniff(struct nb_string text);

/* Appends the text that a reader sees, in UTF-8, and the targets of its links. Tables of fonts and
 * styles, pictures, objects, hidden text and unknown destinations are left out. Bytes above 0x7F
 * are in the charset of the font, or else of the document. Takes linear time within the work of
 * `charset`, and appends at most 3 bytes for each byte. Returns 0 or NB_NO_MEMORY. */
int nb_rtf_to_text(struct nb_charset_state *charset, struct nb_string rtf, struct nb_buffer *out);

#endif
