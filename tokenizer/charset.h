/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the charsets of documents to UTF-8, with iconv but for HZ and UTF-7. Any thread.
 */
#ifndef NB_TOKENIZER_CHARSET_H
#define NB_TOKENIZER_CHARSET_H

#include <iconv.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/bag_private.h"

/* Finds the charset that a label in a mail, a web page or a program stands for, by one table for
 * all kinds of input. Pure functions; any thread.
 *
 * The table has all labels of the Encoding Standard (WHATWG, "Names and labels") with its charsets,
 * and the names of Java, Python, iconv and mail servers. Only the letters and digits of a label
 * count, so that `iso_8859-1`, `ISO8859-1` and `iso88591` are the same label.
 *
 * Where the standard and mail differ:
 * - Small charsets are read as the larger ones that contain them, as the standard does: latin1 as
 *   windows-1252, gb2312 as GB 18030.
 * - `us-ascii`, `8bit`, `x-unknown` and the like name no charset: programs write them when they do
 *   not know the charset. The same holds for `x-user-defined`, which old mail programs wrote for
 * any charset but their own, and for `replacement`, which is no charset.
 * - hz-gb-2312, iso-2022-kr and iso-2022-cn are read, though browsers refuse them: much old mail is
 *   written in them, and no script runs here.
 */

enum { NB_CHARSET_NAME = 64 /* bytes of a name, with its NUL */ };

/* Charsets that are read without iconv. Names of charsets can be compared with these pointers. */
extern const char NB_CHARSET_UTF_8[];
extern const char NB_CHARSET_WINDOWS_1252[];
extern const char NB_CHARSET_UTF_7[];
extern const char NB_CHARSET_HZ[];
/* The label names no charset. */
extern const char NB_CHARSET_NONE[];

/* Returns the charset of a label, in any case, perhaps with blanks and quotes around it: one of the
 * constants above, or a name for iconv, which iconv need not know. Returns NULL if the label cannot
 * name a charset (RFC 2978, 2.3), or names an encoding that programs use only in memory. A name
 * that is not in the table is written to `name`. */
const char *nb_charset_of_label(struct nb_string label, char name[NB_CHARSET_NAME]);

/* Converts UTF-7 (RFC 2152) to UTF-8. iconv is not used: at a surrogate without a partner, glibc
 * reads on, fails when it writes UTF-8, and goes back, so a text of such surrogates took 14 s for
 * each megabyte. And after an unpaired first surrogate it refuses every byte that follows.
 *
 * Appends the text as UTF-8, in time linear in `length`. A surrogate without its partner and a byte
 * above 127 become U+FFFD; a '+' that begins nothing stands for itself. Returns 0, NB_TOO_LARGE
 * (out->length would exceed `most`; then out holds a part) or NB_NO_MEMORY. */
int nb_utf7_to_utf8(const char *bytes, size_t length, size_t most, struct nb_buffer *out);

enum {
    /* Units of work in addition to one unit for each byte: for a call of iconv, and for opening a
     * charset, whose tables may have to be mapped. */
    NB_CHARSET_CALL = 96,
    NB_CHARSET_OPEN = 16384
};

/* The charset that was opened last, for texts that come in many pieces, and the work that they may
 * take. Begins with an empty name; belongs to one thread. */
struct nb_charset_state {
    iconv_t converter; /* for `name`, unless that is ""; (iconv_t)-1: no such charset */
    char name[NB_CHARSET_NAME];
    struct nb_bag_work *work; /* borrowed */
};

/* Closes the open charset. */
void nb_charset_state_deinit(struct nb_charset_state *state);

/* Appends `length` bytes in `charset` to `out` as UTF-8. `charset` is a label
 * (tokenizer/charset.h). If the label names no charset, such as us-ascii, the bytes
 * are read as UTF-8 if they are valid, and else as windows-1252. A byte order mark chooses the byte
 * order of utf-16 and utf-32 and is dropped. Invalid bytes become U+FFFD; when there are more of
 * them than a text in this charset can have (1,000, and one in 32 bytes), the rest is read as
 * windows-1252. Text in utf-8 is copied without a check. The time is linear in `length`, whatever
 * the bytes are. When the work of `state` is spent, no more charsets are opened, and the rest of a
 * text is read as windows-1252. With `state` NULL the work has no such limit. Returns 0,
 * NB_UNSUPPORTED (no such charset), NB_TOO_LARGE (the output exceeds `most` bytes) or NB_NO_MEMORY.
 */
int nb_charset_to_utf8(struct nb_charset_state *state, struct nb_string charset, const char *bytes,
                       size_t length, size_t most, struct nb_buffer *out, struct nb_error *error);

/* Appends a text in UTF-8 to `out` in `charset`, a label as above; a label that names no charset
 * means UTF-8. UTF-16 and UTF-32 are written without a byte order mark. Returns 0, NB_UNSUPPORTED
 * (no such charset), NB_INVALID (the charset lacks a character) or NB_NO_MEMORY. */
int nb_charset_from_utf8(struct nb_string charset, struct nb_string text, struct nb_buffer *out,
                         struct nb_error *error);

#endif
