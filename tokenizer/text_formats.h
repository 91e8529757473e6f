/* SPDX-License-Identifier: Apache-2.0
 *
 * Extracts the text of formats with little markup. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_FORMATS_H
#define NB_TOKENIZER_TEXT_FORMATS_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "tokenizer/charset.h"

/* Appends the text of an iCalendar or vCard (RFC 5545, RFC 6350): joins folded lines (RFC
 * 5545, 3.1) and decodes escapes (3.3.11), so that "\n" becomes a line break. A line may be folded
 * inside a character, so `text` must still be in its original charset, which must extend ASCII.
 * Appends at most as many bytes as it reads, in linear time. Returns 0 or NB_NO_MEMORY. */
int nb_calendar_to_text(struct nb_string text, struct nb_buffer *out);

/* Appends the text of text/enriched (RFC 1896) or of its predecessor text/richtext (RFC
 * 1341, 7.1.3), without its commands and without the contents of <param> and <comment> (colours,
 * fonts, remarks). A command does not end a word. Appends at most as many bytes as it reads, in
 * linear time. Returns 0 or NB_NO_MEMORY. */
int nb_enriched_to_text(struct nb_string text, struct nb_buffer *out);

/* Appends a text/plain with format=flowed and delsp=yes (RFC 3676), in UTF-8, with the lines of
 * each paragraph joined: a line that ends with a blank continues in the next line of the same
 * quoting depth, and the blank is dropped. Appends at most as many bytes as it reads, in linear
 * time. Returns 0 or NB_NO_MEMORY. */
int nb_flowed_to_text(struct nb_string text, struct nb_buffer *out);

/* Extracts the text of RTF (Microsoft, Rich Text Format Specification 1.9.1). Any thread; a charset
 * state belongs to one.
 */

/* Whether a text begins like RTF. */
bool nb_rtf_sniff(struct nb_string text);

/* Appends the text that a reader sees, in UTF-8, and the targets of its links. Tables of fonts and
 * styles, pictures, objects, hidden text and unknown destinations are left out. Bytes above 0x7F
 * are in the charset of the font, or else of the document. Takes linear time within the work of
 * `charset`, and appends at most 3 bytes for each byte. Returns 0 or NB_NO_MEMORY. */
int nb_rtf_to_text(struct nb_charset_state *charset, struct nb_string rtf, struct nb_buffer *out);

#endif
