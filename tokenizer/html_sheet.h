/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the style sheets of a document, the contents of its <style> elements, into rules. Any
 * thread.
 *
 * These rules count:
 *   - selectors of an element, of one class or two, of an id, of an element with a class or an id;
 *     [class=x] and [id=x] are read as .x and #x; `html`, `body` and `*` around an element are
 *     ignored;
 *   - rules for all screens. Rules for printers are left out. Rules for some screens, such as
 *     telephones, hide nothing; but text that they show counts as visible, because some readers see
 *     it;
 *   - other selectors ("table.x td", "a:hover") only by their colours, which become unknown.
 * External sheets (<link>, @import) and escapes in names are not followed.
 */
#ifndef NB_TOKENIZER_HTML_SHEET_H
#define NB_TOKENIZER_HTML_SHEET_H

#include "core/base/string.h"
#include "tokenizer/html_rules.h"

/* Whether a rule of a style sheet applies to people who read a mail, by its media query (CSS Media
 * Queries 3). Pure functions; any thread. */

/* How many screens a query is true for, in ascending order: of nested queries the least counts. */
enum nb_html_media {
    NB_HTML_MEDIA_NEVER,     /* none: printers, speech, impossible widths */
    NB_HTML_MEDIA_SOMETIMES, /* some screens: telephones, dark mode */
    NB_HTML_MEDIA_ALWAYS     /* all screens */
};

/* Reads the text behind @media, or of an attribute `media`. Screens are 280 to 2,560 pixels wide: a
 * query that is true for all these widths always holds, and a query that is true for none never
 * does. All other features count as unknown. Linear in the length. */
enum nb_html_media nb_html_media(struct nb_string query);

/* Adds the rules of a sheet for `media`. Returns 0 or NB_NO_MEMORY. Linear in the length. */
int nb_html_sheet_read(struct nb_html_rules *rules, struct nb_string css, enum nb_html_media media);

#endif
