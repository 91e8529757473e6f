/* SPDX-License-Identifier: Apache-2.0
 *
 * HTML to the text that a reader sees and the text that is kept from him. Any thread; one call
 * works on its own arguments.
 *
 * Inline elements, unknown elements and comments do not split words ("V<!-- -->ia<b>gra</b>" is
 * "Viagra"), all others do, as on the screen. Script and style are left out, alternative texts of
 * images are text. Hidden is what stands under display:none, visibility:hidden, opacity:0,
 * font-size:0 (or 1 pixel), the attribute `hidden`, or in the colour of its background, said by
 * style attributes or by the older color, text and bgcolor. Style sheets and the cascade are not
 * followed.
 */
#ifndef NB_TOKENIZER_HTML_HTML_TEXT_H
#define NB_TOKENIZER_HTML_HTML_TEXT_H

#include "core/base/buffer.h"
#include "tokenizer/html/html.h"

struct nb_html_text {
    struct nb_buffer visible; /* owned, UTF-8 where the input was; free both with deinit */
    struct nb_buffer hidden;
};

/* Told of every start tag on the way; returns 0 to go on. */
struct nb_html_observer {
    int (*element)(void *user, const struct nb_html_token *start_tag);
    void *user;
};

/* Appends the text of `html` (ASCII-compatible, best UTF-8: entities are written as UTF-8) to the
 * buffers of `out`. `observer` may be NULL. Returns 0, NB_NO_MEMORY or what the observer returned.
 * Takes time linear in `length` and writes at most about `length` bytes. */
int nb_html_to_text(const char *html, size_t length, const struct nb_html_observer *observer,
                    struct nb_html_text *out);

void nb_html_text_deinit(struct nb_html_text *text);

/* Whether the beginning of a text looks like HTML that somebody forgot to declare. */
bool nb_html_sniff(const char *text, size_t length);

#endif
