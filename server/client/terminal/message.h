/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of bayesc on standard error. Main thread.
 */
#ifndef NB_CLIENT_MESSAGE_H
#define NB_CLIENT_MESSAGE_H

/* Prints "bayesc: ", the printf-formatted text and a line feed. Control characters in the text, for
 * example in the name of a file, become spaces. On a terminal the line of a progress bar is erased
 * first. */
void nb_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
