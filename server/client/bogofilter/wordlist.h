/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a word list as `bogoutil -d` prints it, line by line: "token spam ham yyyymmdd", where spam
 * and ham are the messages that held the token (bogoutil(1), bogofilter 1.2.5). One thread.
 *
 * The file may have any bytes. A line that does not belong to a word list is recognized, and no
 * line takes more memory than NB_WORD_LINE.
 */
#ifndef NB_CLIENT_WORDLIST_H
#define NB_CLIENT_WORDLIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"

/* bogofilter's tokens have at most 30 characters, three of them joined with prefixes when
 * `multi_token_count` is set; numbers have 10 digits. */
enum { NB_WORD_LINE = 1024 };

enum nb_word_line_kind { NB_WORD_LINE_END, NB_WORD_LINE_COUNTS, NB_WORD_LINE_MALFORMED };

/* Set `in`, all else is 0. Only `number` may be read: the number of the last line, from 1. */
struct nb_word_reader {
    FILE *in; /* borrowed */
    uint64_t number;
    size_t length;
    bool is_cut; /* the line was longer than `line` */
    char line[NB_WORD_LINE];
};

/* A line in parts; `token` is borrowed from the reader until its next line. */
struct nb_word_line {
    struct nb_string token;
    uint32_t spam, ham;
    uint32_t date; /* yyyymmdd, 0: none */
};

/* Reads the next line that is not empty, and fills `line` if the result is NB_WORD_LINE_COUNTS. The
 * last line may have no line feed; a CR before a line feed is ignored. */
enum nb_word_line_kind nb_word_line_read(struct nb_word_reader *reader, struct nb_word_line *line);

/* Call after the first line was read. Recognizes files that belong to a mail filter and cannot be
 * imported (SpamAssassin's, spamprobe's, rspamd's; a database; a compressed file). Returns the
 * reason as a sentence, static, or NULL. */
const char *nb_word_list_foreign(const struct nb_word_reader *reader);

#endif
