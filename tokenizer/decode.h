/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the charset of a text that comes without its name, and decodes the text to UTF-8: the same
 * rule for texts, tables and lines of JSON everywhere. Mails have header fields for it
 * (tokenizer/mail.h). Pure functions; any thread; a census belongs to one.
 *
 * A byte order mark decides first (UTF-8, UTF-16, UTF-32), then the given name. Else a text that is
 * valid UTF-8 is UTF-8; a text with a NUL in every second, or in three of four bytes, is UTF-16 or
 * UTF-32; everything else is windows-1252, as browsers read it (WHATWG Encoding).
 */
#ifndef NB_TOKENIZER_DECODE_H
#define NB_TOKENIZER_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tokenizer/charset.h"

/* Counts of the bytes of a text, updated piece by piece. Begins with zeros. */
struct nb_census {
    uint64_t bytes;
    uint64_t sequences;            /* characters of more than one byte in well-formed UTF-8 */
    uint64_t strays;               /* bytes above 0x7F outside of such characters */
    uint64_t undefined;            /* strays that windows-1252 does not define */
    uint64_t first_stray;          /* line of the first stray, from 1 */
    uint64_t nuls[4];              /* NUL bytes by their position modulo four */
    uint64_t first_nul;            /* line of the first NUL */
    uint64_t line;                 /* lines that have ended, by LF, CRLF or CR */
    uint64_t lone_cr, lone_lf;     /* CR and LF alone as line ends outside of double quotes */
    uint64_t quoted_cr, quoted_lf; /* CR and LF alone as line ends within double quotes */
    uint64_t crlf;                 /* CRLF as line ends anywhere */
    unsigned char head[4];         /* the first bytes of the text */
    unsigned char kept[4];         /* private: beginning of a character at the end of a piece */
    unsigned kept_count;
    bool is_quoted, is_behind_cr; /* private */
};

void nb_census_add(struct nb_census *census, const char *bytes, size_t length);
/* Ends the census after the last piece. */
void nb_census_end(struct nb_census *census);

struct nb_text_charset {
    char name[NB_CHARSET_NAME]; /* a name for nb_charset_to_utf8; "utf-8" for UTF-8 */
    size_t mark;                /* length of the byte order mark, which is no text */
    bool is_guessed;            /* neither a mark nor a name tells it, and it is not UTF-8 */
    bool is_damaged;            /* the text is UTF-8 with some invalid bytes */
    bool is_unlikely;           /* guessed, but some bytes are not defined in windows-1252 */
};

/* Finds the charset of a text that has been counted. `given` is a label, or empty; a label that
 * names no charset counts as empty. A text with more UTF-8 characters than invalid bytes is damaged
 * UTF-8; its invalid bytes are read as windows-1252. */
struct nb_text_charset nb_text_charset_of(const struct nb_census *census, struct nb_string given);

/* Appends the text, or a piece of it that ends with a character, to `out` as UTF-8, at most `most`
 * bytes. In UTF-8 a byte that belongs to no character is read as windows-1252. Returns 0 or a code
 * of nb_charset_to_utf8. */
int nb_text_decode(const struct nb_text_charset *charset, struct nb_string text, size_t most,
                   struct nb_buffer *out, struct nb_error *error);

/* Decodes a whole text in memory: census, charset and decoding. Sets *text to the UTF-8: to a part
 * of itself if it is UTF-8 already, else to `out`, which is emptied first. Returns 0 or a code of
 * nb_charset_to_utf8. */
int nb_text_decode_whole(struct nb_string *text, struct nb_string given, size_t most,
                         struct nb_buffer *out, struct nb_text_charset *charset,
                         struct nb_error *error);

#endif
