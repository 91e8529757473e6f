/* SPDX-License-Identifier: Apache-2.0
 *
 * In which charset a text is written that comes without a name of one, and its decoding to UTF-8:
 * one rule for texts, tables and lines of JSON, at every door. Mails have fields that say it
 * (tokenizer/mail). Pure functions; any thread; a census belongs to one.
 *
 * A byte order mark tells (UTF-8, UTF-16, UTF-32); then the name that was given; then text that is
 * UTF-8 is UTF-8, and text with a NUL in every second or in three of four bytes is UTF-16 or
 * UTF-32; everything else is windows-1252, as browsers read it (WHATWG Encoding).
 */
#ifndef NB_TOKENIZER_CHARSET_DECODE_H
#define NB_TOKENIZER_CHARSET_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tokenizer/charset/charset.h"

/* What the bytes of a text are, counted piece by piece. All zero at the beginning. */
struct nb_census {
    uint64_t bytes;
    uint64_t sequences;            /* characters of more than one byte in well-formed UTF-8 */
    uint64_t strays;               /* bytes above 0x7F that belong to none */
    uint64_t undefined;            /* of those the five that windows-1252 does not define */
    uint64_t first_stray;          /* the line of the first one, from 1 */
    uint64_t nuls[4];              /* NUL bytes by their place modulo four */
    uint64_t first_nul;            /* the line of the first one */
    uint64_t line;                 /* lines that have ended, by LF, CRLF or CR */
    uint64_t lone_cr, lone_lf;     /* line ends outside of double quotes */
    uint64_t quoted_cr, quoted_lf; /* within them */
    uint64_t crlf;                 /* both together, anywhere */
    unsigned char head[4];         /* the first bytes */
    unsigned char kept[4];         /* private: the beginning of a character that the piece cuts */
    unsigned kept_count;
    bool is_quoted, is_behind_cr; /* private */
};

void nb_census_add(struct nb_census *census, const char *bytes, size_t length);
/* After the last piece. */
void nb_census_end(struct nb_census *census);

struct nb_text_charset {
    char name[NB_CHARSET_NAME]; /* as nb_charset_to_utf8 knows it; "utf-8" is that */
    size_t mark;                /* bytes of the byte order mark, which are no text */
    bool is_guessed;            /* neither a mark nor a name told, and it is not UTF-8 */
    bool is_damaged;            /* UTF-8 with some bytes that are not */
    bool is_unlikely;           /* guessed, and there are bytes that windows-1252 does not define */
};

/* Finds the charset of a text that has been counted. `given`: a label, or empty; one that says
 * nothing is none. Text in which more characters are UTF-8 than bytes are not is damaged UTF-8;
 * what belongs to no character is then read as windows-1252. */
struct nb_text_charset nb_text_charset_of(const struct nb_census *census, struct nb_string given);

/* Appends the text, or a piece of it that ends with a character, to `out` as UTF-8, at most `most`
 * bytes. In UTF-8 a byte that belongs to no character is read as windows-1252. Returns 0 or a code
 * of nb_charset_to_utf8. */
int nb_text_decode(const struct nb_text_charset *charset, struct nb_string text, size_t most,
                   struct nb_buffer *out, struct nb_error *error);

/* Decodes a whole text that lies in memory: census, charset and decoding. *text is set to where
 * UTF-8 begins: in itself where it is UTF-8 already, else in `out`, which is emptied first. Returns
 * 0 or a code of nb_charset_to_utf8. */
int nb_text_decode_whole(struct nb_string *text, struct nb_string given, size_t most,
                         struct nb_buffer *out, struct nb_text_charset *charset,
                         struct nb_error *error);

#endif
