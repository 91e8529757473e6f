/* SPDX-License-Identifier: Apache-2.0
 *
 * The callbacks of libmilter: they collect a mail, ask bayesd about it, and carry out the reply.
 * libmilter calls them in threads of its own, never two at a time for one connection.
 */
#ifndef NB_MILTER_CALLBACKS_H
#define NB_MILTER_CALLBACKS_H

#include "server/milter/ask.h"
#include "server/milter/command_line.h"

/* Registers the callbacks. Both arguments are borrowed until the program ends. Main thread. Returns
 * 0 or NB_NO_MEMORY. */
int nb_milter_register(const struct nb_milter_options *options, struct nb_ask *ask);

#endif
