/* SPDX-License-Identifier: Apache-2.0
 *
 * The callbacks of libmilter: they collect a mail, ask bayesd about it, and carry out the reply.
 * libmilter calls them in threads of its own, never two at a time for one connection.
 */
#ifndef NB_MILTER_CALLBACKS_H
#define NB_MILTER_CALLBACKS_H

#include "core/base/error.h"

/* Registers the callbacks; settings must hold before a mail comes. Main thread. Returns 0 or
 * NB_NO_MEMORY. */
int nb_milter_register(void);

#endif
