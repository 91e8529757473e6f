/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits HTML into the text that readers see and the text that is hidden from them. Any thread; the
 * functions work on their arguments only.
 *
 * Inline elements, unknown elements and comments do not split words: "V<!-- -->ia<b>gra</b>" is
 * "Viagra". All other elements do, as on the screen. Script and style are left out; alternative
 * texts of images are text. Text is hidden if html_declared.h says so, if it has the attribute
 * `hidden`, or if its colour is that of its background. Colours come from CSS and from the older
 * attributes color, text and bgcolor. Style sheets in the document count as html_sheet.h describes,
 * wherever they stand: if one comes after text, the document is read again. Text that is shown from
 * right to left whatever its letters are (<bdo dir=rtl>, unicode-bidi) begins with U+202E, and ends
 * with U+202C or at the end of its line.
 */
#ifndef NB_TOKENIZER_HTML_TEXT_H
#define NB_TOKENIZER_HTML_TEXT_H

#include "core/base/buffer.h"
#include "tokenizer/html.h"

struct nb_html_text {
    struct nb_buffer visible; /* owned; UTF-8 if the input was */
    struct nb_buffer hidden;  /* owned */
};

/* `element` is called for each start tag; it returns 0, or a code that ends the conversion. */
struct nb_html_observer {
    int (*element)(void *user, const struct nb_html_token *start_tag);
    void *user;
};

/* Appends the text of `html` to the buffers of `out`, which nb_html_text_deinit frees. The charset
 * must extend ASCII, and should be UTF-8, because entities are written in it. `observer` may be
 * NULL. Returns 0, NB_NO_MEMORY or what the observer returned. Takes time linear in `length` and
 * writes about twice `length` bytes at most. */
int nb_html_to_text(const char *html, size_t length, const struct nb_html_observer *observer,
                    struct nb_html_text *out);

void nb_html_text_deinit(struct nb_html_text *text);

/* Whether the beginning of a text looks like HTML, for text that is not declared as HTML. */
bool nb_html_sniff(const char *text, size_t length);

#endif
