/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the charset that a label in a mail, a web page or a program stands for, by one table for
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
#ifndef NB_TOKENIZER_CHARSET_CHARSET_LABEL_H
#define NB_TOKENIZER_CHARSET_CHARSET_LABEL_H

#include "core/base/string.h"

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

#endif
