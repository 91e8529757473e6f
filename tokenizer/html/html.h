/* SPDX-License-Identifier: Apache-2.0
 *
 * HTML, read as browsers read it (HTML standard, section 13.2.5, "Tokenization"): a lexer that
 * returns one piece after another. It allocates nothing, keeps no stack, reads every byte a bounded
 * number of times whatever the bytes are, and never fails. Any thread; a lexer belongs to one.
 *
 * Why not libxml2, whose push parser reads HTML too: 2.9.14 compares every attribute of a tag with
 * all before it, and every end tag with all open elements, so that 400 kB of attributes take 1.5 s
 * and 400 kB of unclosed elements 3.9 s, growing with the square of the size. Mail is written by
 * attackers.
 */
#ifndef NB_TOKENIZER_HTML_HTML_H
#define NB_TOKENIZER_HTML_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

enum nb_html_kind {
    NB_HTML_FINISHED, /* nothing is left */
    NB_HTML_TEXT,     /* `text`: characters, entities not decoded */
    NB_HTML_RAW,      /* `text`: what stands inside script, style, title or textarea (`name`) */
    NB_HTML_START,    /* `name`; `text`: the attributes, for nb_html_attribute */
    NB_HTML_END,      /* `name` */
    NB_HTML_COMMENT   /* `text`: of a comment, a declaration or a processing instruction */
};

/* A piece of HTML; the bytes are those of the input, names in any case. */
struct nb_html_token {
    enum nb_html_kind kind;
    struct nb_string name;
    struct nb_string text;
};

struct nb_html_lexer {
    const char *at; /* borrowed: what is still to read */
    const char *end;
    struct nb_string raw; /* the element whose content is not markup and comes next, if any */
};

/* A lexer over HTML in any charset that extends ASCII. */
struct nb_html_lexer nb_html_lexer_of(const char *html, size_t length);

/* The next piece. A tag, comment or quoted value without an end reaches to the end of the input and
 * a tag without an end is left out, as browsers leave it out. */
enum nb_html_kind nb_html_next(struct nb_html_lexer *lexer, struct nb_html_token *token);

/* Takes the next attribute off `attributes`. A value is without its quotes, entities not decoded;
 * NULL and 0 without one. False when there is none left. */
bool nb_html_attribute(struct nb_string *attributes, struct nb_string *name,
                       struct nb_string *value);

/* Appends text with its entities decoded and NUL bytes left out, as browsers do. Returns 0 or
 * NB_NO_MEMORY. */
int nb_html_decode(struct nb_buffer *out, const char *text, size_t length);

#endif
