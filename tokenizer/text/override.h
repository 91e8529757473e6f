/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles text that is shown in another order than that of its bytes: behind a right-to-left
 * override (U+202E) "argaiv" is shown as "viagra". Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_OVERRIDE_H
#define NB_TOKENIZER_TEXT_OVERRIDE_H

#include "core/base/buffer.h"

/* Appends the words that overrides reorder, in the order in which they are shown, with a line end
 * after each stretch; appends nothing if there are none. An override extends to its end mark
 * (U+202C) or to the end of the line (UAX #9, X2 to X7); overrides nested deeper than 8 are
 * ignored. An override does not change words of a script that is written in its direction anyway.
 * The text is UTF-8. Appends at most 4/3 of `length`, in linear time. Returns 0 or NB_NO_MEMORY. */
int nb_override_shown(const char *text, size_t length, struct nb_buffer *out);

#endif
