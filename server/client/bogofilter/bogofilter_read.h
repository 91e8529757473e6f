/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a word list of bogofilter, the text of `bogoutil -d`. Main thread.
 *
 * bogofilter counts the messages that had a token, but keeps no messages. The model gets as many
 * documents of each label as the list counts messages (bogofilter_dump.h), and each feature is in
 * as many documents as bogofilter counted. The list does not tell which words were in the same
 * message; naive Bayes does not need this.
 */
#ifndef NB_SERVER_CLIENT_BOGOFILTER_BOGOFILTER_READ_H
#define NB_SERVER_CLIENT_BOGOFILTER_BOGOFILTER_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/client/bogofilter/bogofilter_list.h"

/* Reads a word list as `bogoutil -d` prints it, line by line: "token spam ham yyyymmdd", where spam
 * and ham are the numbers of messages that held the token (bogoutil(1), bogofilter 1.2.5). One
 * thread.
 *
 * The file may have any bytes. A line that does not belong to a word list is recognized, and no
 * line takes more memory than NB_WORDLIST_LINE. */
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

/* Reads a list up to the end of the file. The tables of the tokenizer must be there
 * (nb_text_setup). Returns 0; NB_UNSUPPORTED: the file belongs to another program, which the error
 * names; NB_INVALID: the number of messages is missing or impossible; NB_TOO_LARGE; NB_IO;
 * NB_NO_MEMORY. `list` needs nb_bogofilter_list_deinit in any case. */
int nb_bogofilter_read(FILE *in, struct nb_bogofilter_list *list, struct nb_error *error);

#endif
