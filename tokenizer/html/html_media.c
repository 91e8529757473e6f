/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html/html_media.h"

#include <stdbool.h>

#include "core/base/ascii.h"
#include "tokenizer/html/html_length.h"

/* Widths of screens, in thousandths of a pixel. */
enum { NARROWEST = 280 * 1000, WIDEST = 2560 * 1000 };

static enum nb_html_media lesser(enum nb_html_media a, enum nb_html_media b)
{
    return a < b ? a : b;
}

/* Reads a feature, the text in parentheses: "max-width: 600px". */
static enum nb_html_media read_feature(struct nb_string feature)
{
    int32_t width;
    struct nb_string name = nb_html_take(&feature, ':');
    bool is_least = nb_string_equals_nocase(name, "min-width") ||
                    nb_string_equals_nocase(name, "min-device-width");
    bool is_most = nb_string_equals_nocase(name, "max-width") ||
                   nb_string_equals_nocase(name, "max-device-width");
    if ((!is_least && !is_most) || !nb_html_pixels(nb_string_trim(feature), &width))
        return NB_HTML_MEDIA_SOMETIMES;
    if (is_least ? width <= NARROWEST : width >= WIDEST)
        return NB_HTML_MEDIA_ALWAYS;
    return (is_least ? width > WIDEST : width < NARROWEST) ? NB_HTML_MEDIA_NEVER
                                                           : NB_HTML_MEDIA_SOMETIMES;
}

/* Takes the word at the beginning of a query, and the blanks after it. */
static struct nb_string take_name(struct nb_string *query)
{
    size_t length = 0;
    while (length < query->length &&
           (nb_ascii_is_letter(query->bytes[length]) || query->bytes[length] == '-'))
        length++;
    struct nb_string name = {query->bytes, length};
    *query = nb_string_trim(nb_string_from(*query, length));
    return name;
}

static bool is_screen(struct nb_string type)
{
    return type.length == 0 || nb_string_equals_nocase(type, "all") ||
           nb_string_equals_nocase(type, "screen") || nb_string_equals_nocase(type, "handheld") ||
           nb_string_equals_nocase(type, "and");
}

/* Reads one query of a list: "only screen and (max-width: 600px)". */
static enum nb_html_media read_query(struct nb_string query)
{
    enum nb_html_media media = NB_HTML_MEDIA_ALWAYS;
    struct nb_string type = take_name(&query);
    bool is_not = nb_string_equals_nocase(type, "not");
    if (is_not || nb_string_equals_nocase(type, "only"))
        type = take_name(&query);
    if (is_not)
        return is_screen(type) || query.length > 0 ? NB_HTML_MEDIA_SOMETIMES : NB_HTML_MEDIA_ALWAYS;
    if (!is_screen(type))
        return NB_HTML_MEDIA_NEVER;
    while (query.length > 0) {
        (void)nb_html_take(&query, '('); /* "and" */
        if (query.length > 0)
            media = lesser(media, read_feature(nb_html_take(&query, ')')));
    }
    return media;
}

enum nb_html_media nb_html_media(struct nb_string query)
{
    enum nb_html_media media = NB_HTML_MEDIA_NEVER;
    query = nb_string_trim(query);
    if (query.length == 0)
        return NB_HTML_MEDIA_ALWAYS;
    while (query.length > 0) {
        enum nb_html_media one = read_query(nb_html_take(&query, ','));
        media = one > media ? one : media;
    }
    return media;
}
