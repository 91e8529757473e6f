/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in HTML: nothing that a mail, a model or a request brought is ever read as markup. Pure
 * functions; any thread. Each appends to a buffer and returns 0 or NB_NO_MEMORY.
 */
#ifndef NB_SERVER_CONSOLE_HTML_H
#define NB_SERVER_CONSOLE_HTML_H

#include "core/base/buffer.h"

/* UTF-8 text for an element or a quoted attribute: & < > " ' are escaped, control characters become
 * spaces. */
int nb_html_text(struct nb_buffer *out, struct nb_string text);

/* A part of a path, or a value of a query, in an attribute: all but the unreserved characters (RFC
 * 3986, section 2.3) are percent-encoded. */
int nb_html_url(struct nb_buffer *out, struct nb_string text);

#endif
