/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a word list of bogofilter, the text of `bogoutil -d`. Main thread.
 *
 * bogofilter counts the messages that had a token, but keeps no messages. The model gets as many
 * documents of each label as the list counts messages (bogofilter_dump.h), and each feature is in
 * as many documents as bogofilter counted. The list does not tell which words were in the same
 * message; naive Bayes does not need this.
 */
#ifndef NB_CLIENT_BOGOFILTER_READ_H
#define NB_CLIENT_BOGOFILTER_READ_H

#include <stdio.h>

#include "core/base/error.h"
#include "server/client/bogofilter/bogofilter_list.h"

/* Reads a list up to the end of the file. The tables of the tokenizer must be there
 * (nb_text_setup). Returns 0; NB_UNSUPPORTED: the file belongs to another program, which the error
 * names; NB_INVALID: the number of messages is missing or impossible; NB_TOO_LARGE; NB_IO;
 * NB_NO_MEMORY. `list` needs nb_bogofilter_list_deinit in any case. */
int nb_bogofilter_read(FILE *in, struct nb_bogofilter_list *list, struct nb_error *error);

#endif
