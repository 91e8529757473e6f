/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a rule of a style sheet holds for those who read a mail, by its media query (CSS Media
 * Queries 3). Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_MEDIA_H
#define NB_TOKENIZER_HTML_HTML_MEDIA_H

#include "core/base/string.h"

/* Sorted: of a query in a query the lesser one holds. */
enum nb_html_media {
    NB_HTML_MEDIA_NEVER,     /* printers, speech; screens narrower or wider than any */
    NB_HTML_MEDIA_SOMETIMES, /* some screens: telephones, dark ones */
    NB_HTML_MEDIA_ALWAYS     /* all screens */
};

/* Reads what stands behind @media, or in an attribute `media`. Screens are 280 to 2,560 pixels
 * wide: a query that is true for all of these always holds, and one that is true for none never
 * does. Of other features it is not known. Linear in the length. */
enum nb_html_media nb_html_media(struct nb_string query);

#endif
