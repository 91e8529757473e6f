/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a word list as `bogoutil -d` prints it, line by line: "token spam ham yyyymmdd", where spam
 * and ham are the numbers of messages that held the token (bogoutil(1), bogofilter 1.2.5). One
 * thread.
 *
 * The file may have any bytes. A line that does not belong to a word list is recognized, and no
 * line takes more memory than NB_WORDLIST_LINE.
 */
#ifndef NB_CLIENT_WORDLIST_H
#define NB_CLIENT_WORDLIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"

/* bogofilter's tokens have at most 30 characters, three of them joined with prefixes when
 * `multi_token_count` is set; numbers have 10 digits. */
enum { NB_WORDLIST_LINE = 1024 };

enum nb_wordlist_kind { NB_WORDLIST_END, NB_WORDLIST_COUNTS, NB_WORDLIST_MALFORMED };

/* The caller sets `in` and zeroes the rest. It may read only `number`: the number of the last line,
 * from 1. */
struct nb_wordlist_reader {
    FILE *in; /* borrowed */
    uint64_t number;
    size_t length;
    bool is_cut; /* the line was longer than `line` */
    char line[NB_WORDLIST_LINE];
};

/* A parsed line; `token` is borrowed from the reader until it reads the next line. */
struct nb_wordlist_line {
    struct nb_string token;
    uint32_t spam, ham;
    uint32_t date; /* yyyymmdd, 0: none */
};

/* Reads the next line that is not empty, and fills `line` if the result is NB_WORDLIST_COUNTS. The
 * last line may have no line feed; a CR before a line feed is ignored. */
enum nb_wordlist_kind nb_wordlist_read(struct nb_wordlist_reader *reader,
                                       struct nb_wordlist_line *line);

/* Call after the first line was read. Recognizes files that belong to a mail filter and cannot be
 * imported (SpamAssassin's, spamprobe's, rspamd's; a database; a compressed file). Returns the
 * reason as a sentence, static, or NULL. */
const char *nb_wordlist_foreign(const struct nb_wordlist_reader *reader);

#endif
