/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of iCalendar and vCard (RFC 5545, RFC 6350). A pure function; any thread.
 */
#ifndef NB_TOKENIZER_FORMATS_CALENDAR_H
#define NB_TOKENIZER_FORMATS_CALENDAR_H

#include "core/base/buffer.h"

/* Appends `text` with its folded lines joined (RFC 5545, 3.1) and its escapes decoded (3.3.11):
 * "\n" becomes a line break. A line may be folded inside a character, so `text` is still in its
 * original charset, which must extend ASCII. Appends at most as many bytes as it reads, in linear
 * time. Returns 0 or NB_NO_MEMORY. */
int nb_calendar_to_text(struct nb_string text, struct nb_buffer *out);

#endif
