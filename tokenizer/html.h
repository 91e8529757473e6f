/* SPDX-License-Identifier: Apache-2.0
 *
 * A lexer of HTML that reads as browsers do (HTML standard, section 13.2.5, "Tokenization") and
 * returns one piece after another. It allocates nothing, keeps no stack, reads each byte a bounded
 * number of times whatever the bytes are, and never fails. Any thread; a lexer belongs to one.
 *
 * Why not libxml2, which has a push parser for HTML: version 2.9.14 compares every attribute of a
 * tag with all before it, and every end tag with all open elements. 400 kB of attributes take 1.5
 * s, and 400 kB of unclosed elements 3.9 s; the time grows with the square of the size. Attackers
 * write mail.
 */
#ifndef NB_TOKENIZER_HTML_H
#define NB_TOKENIZER_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

/* Character references of HTML ("&eacute;", "&#233;", "&#xe9;"). Read-only tables; any thread. */

/* The most bytes of UTF-8 for one reference, which stands for two characters at most. */
enum { NB_HTML_ENTITY_BYTES = 8 };

/* Reads the reference that begins with the '&' at text[0]. Writes the characters that it stands for
 * to `utf8` and their length to *written. Returns the bytes of `text` that the reference takes; 0
 * if there is none and the '&' is an ordinary character. As in HTML, some names need no final ';'
 * ("&copy 2003", "&ampfoo"), numbers never do, and the numbers 128 to 159 are windows-1252. */
size_t nb_html_entity(const char *text, size_t length, char utf8[NB_HTML_ENTITY_BYTES],
                      size_t *written);

/* Finds the ends of names and texts in HTML. Pure functions; any thread. */

/* White space of HTML: unlike nb_ascii_is_space, without the vertical tab. */
static inline bool nb_html_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static inline bool nb_html_ends_name(char c, char mark)
{
    return nb_html_is_space(c) || c == '/' || c == '>' || c == mark;
}

/* The first byte from `at` on that ends a name: white space, '/', '>' or `mark`; `end` if there is
 * none. */
static inline const char *nb_html_name_end(const char *at, const char *end, char mark)
{
    while (at < end && !nb_html_ends_name(*at, mark))
        at++;
    return at;
}

/* The first '&' or NUL; `end` if there is none. */
static inline const char *nb_html_special(const char *at, const char *end)
{
    while (at < end && *at != '&' && *at != '\0')
        at++;
    return at;
}

enum nb_html_kind {
    NB_HTML_FINISHED, /* nothing is left */
    NB_HTML_TEXT,     /* `text` has characters, with entities not decoded */
    NB_HTML_RAW,      /* `text` is the content of a script, style, title or textarea (`name`) */
    NB_HTML_START,    /* a start tag with `name` and attributes (nb_html_attributes_of) */
    NB_HTML_END,      /* an end tag with `name` */
    NB_HTML_COMMENT   /* `text` is that of a comment, declaration or processing instruction */
};

/* An attribute. The value has no quotes, and its entities are not decoded; an attribute without a
 * value has NULL and 0. */
struct nb_html_attribute {
    struct nb_string name, value;
};

enum { NB_HTML_KNOWN = 8 };

/* A piece of HTML. All texts are borrowed from the input; names are in any case. The lexer finds
 * the end of a tag by reading its attributes, and keeps the first of them because several callers
 * need them. */
struct nb_html_token {
    enum nb_html_kind kind;
    struct nb_string name;
    struct nb_string text;
    const char *rest; /* in a tag: the attributes after the known ones */
    size_t known;     /* number of known attributes */
    struct nb_html_attribute attributes[NB_HTML_KNOWN]; /* the first `known` attributes */
};

struct nb_html_lexer {
    const char *at; /* borrowed: the rest of the input */
    const char *end;
    struct nb_string raw; /* name of the element whose raw content comes next; empty: none */
};

/* A lexer of HTML in any charset that extends ASCII. The bytes are borrowed. */
struct nb_html_lexer nb_html_lexer_of(const char *html, size_t length);

/* Reads the next piece into `token` and returns its kind. A comment or quoted value without an end
 * reaches to the end of the input. A tag without an end is left out, as in browsers. */
enum nb_html_kind nb_html_next(struct nb_html_lexer *lexer, struct nb_html_token *token);

/* A position among the attributes of a start tag, which it borrows. */
struct nb_html_attributes {
    const struct nb_html_token *tag;
    size_t next;
    const char *rest;
};
struct nb_html_attributes nb_html_attributes_of(const struct nb_html_token *start_tag);

/* Reads the next attribute. Returns false when none is left. */
bool nb_html_attribute(struct nb_html_attributes *attributes, struct nb_html_attribute *attribute);

/* Appends text to `out`, with entities decoded and without NUL bytes, as browsers read it. Returns
 * 0 or NB_NO_MEMORY. */
int nb_html_decode(struct nb_buffer *out, const char *text, size_t length);

#endif
