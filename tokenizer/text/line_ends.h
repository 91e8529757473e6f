/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a mail end with CR LF on the wire and with LF in most files. Where bytes are counted, a
 * CR before LF is not counted, so that a mail has the same features in both forms. Pure functions;
 * any thread.
 */
#ifndef NB_TOKENIZER_TEXT_LINE_ENDS_H
#define NB_TOKENIZER_TEXT_LINE_ENDS_H

#include <stddef.h>

#include "core/base/string.h"

/* Returns the length of the beginning of a text that has `most` bytes without CRs before LF, or the
 * length of the text if it has no more. Sets *counted to the number of its bytes besides these
 * CRs. */
size_t nb_line_ends_span(struct nb_string text, size_t most, size_t *counted);

/* Returns the number of bytes of a text, without CRs before LF. */
size_t nb_line_ends_size(struct nb_string text);

#endif
