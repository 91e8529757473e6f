/* SPDX-License-Identifier: Apache-2.0
 *
 * The manual page bayesc.1, which is compiled in: `bayesc COMMAND --help` prints its section, so
 * that each text stands in one place. The page keeps to these macros: .SH, .SS, .PP, .TP, .B, .nf
 * and .fi, .EX and .EE, .RS and .RE. A section of a command begins with its usage, in one line; its
 * first sentence is the summary. Any thread.
 */
#ifndef NB_SERVER_CLIENT_BASE_MANUAL_H
#define NB_SERVER_CLIENT_BASE_MANUAL_H

#include <stdbool.h>
#include <stdio.h>

enum { NB_MANUAL_TEXT = 4096 /* bytes of a paragraph */ };

/* A text; a struct so that it can be used within one expression. */
struct nb_manual_text {
    char text[NB_MANUAL_TEXT];
};

/* Return the usage of a command ("bayesc models [OPTION]...") and its summary without the full
 * stop; "" for a name without a section. */
struct nb_manual_text nb_manual_usage(const char *command);
struct nb_manual_text nb_manual_summary(const char *command);

/* Prints what a section says before its options, wrapped to the terminal. `section` is the name of
 * a command, whose usage is left out, or DOCUMENTS. */
void nb_manual_print(const char *section, FILE *out);

/* Prints an option, whose text may be in the section of the command or in those for several
 * commands. Returns false if there is no text. */
bool nb_manual_print_option(const char *command, const char *option, FILE *out);

#endif
