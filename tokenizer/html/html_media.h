/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a rule of a style sheet applies to people who read a mail, by its media query (CSS Media
 * Queries 3). Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_MEDIA_H
#define NB_TOKENIZER_HTML_HTML_MEDIA_H

#include "core/base/string.h"

/* In ascending order: for nested queries the lesser value holds. */
enum nb_html_media {
    NB_HTML_MEDIA_NEVER,     /* printers, speech; screens narrower or wider than any */
    NB_HTML_MEDIA_SOMETIMES, /* some screens: telephones, dark ones */
    NB_HTML_MEDIA_ALWAYS     /* all screens */
};

/* Reads the text behind @media, or of an attribute `media`. Screens are 280 to 2,560 pixels wide: a
 * query that is true for all these widths always holds, and a query that is true for none never
 * does. All other features count as unknown. Linear in the length. */
enum nb_html_media nb_html_media(struct nb_string query);

#endif
