/* SPDX-License-Identifier: Apache-2.0
 *
 * Text whose order on the screen is another than in its bytes: behind a right-to-left override
 * (U+202E) "argaiv" is shown as "viagra". Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_OVERRIDE_H
#define NB_TOKENIZER_TEXT_OVERRIDE_H

#include "core/base/buffer.h"

/* Appends the words of a text that overrides show in another order, as they are shown, with a line
 * end behind each stretch of them; nothing if there are none. An override reaches to its end mark
 * (U+202C), or to the end of the line (UAX #9, X2 to X7); what is nested deeper than 8 is left as
 * it stands. It changes no words of a script that is written in its direction anyway. The text is
 * UTF-8. At most `length` and a third of it is written, in time linear in it. Returns 0 or
 * NB_NO_MEMORY. */
int nb_override_shown(const char *text, size_t length, struct nb_buffer *out);

#endif
