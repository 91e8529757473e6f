/* SPDX-License-Identifier: Apache-2.0
 *
 * The mail filter itself: libmilter's callbacks, which gather a mail, ask about it, and carry out
 * the verdict. libmilter calls them in threads of its own, never two of one connection at a time.
 */
#ifndef NB_MILTER_CALLBACKS_H
#define NB_MILTER_CALLBACKS_H

#include "server/milter/ask.h"
#include "server/milter/command_line.h"

/* Tells libmilter of the callbacks. Both arguments are borrowed until the program ends. Main
 * thread. NB_NO_MEMORY. */
int nb_milter_register(const struct nb_milter_options *options, struct nb_ask *ask);

#endif
