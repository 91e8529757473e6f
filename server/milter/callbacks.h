/* SPDX-License-Identifier: Apache-2.0
 *
 * The callbacks of libmilter: they collect a mail, ask bayesd about it, and answer the mail server
 * with changes of the mail's header and the SMTP reply.
 * libmilter calls them in threads of its own, never two at a time for one connection.
 */
#ifndef NB_SERVER_MILTER_CALLBACKS_H
#define NB_SERVER_MILTER_CALLBACKS_H

#include <libmilter/mfapi.h>

#include "core/base/error.h"
#include "server/milter/command_line.h"
#include "server/milter/milter_ask.h"
#include "server/milter/milter_mail.h"

/* Answers the mail server about a mail: changes of its header and the SMTP reply. Callbacks call
 * this at the end of a mail, on their thread. */
/* Removes the fields NB_MILTER_STATUS that the mail brings, also those that only some readers see.
 * Returns SMFIS_CONTINUE; SMFIS_REJECT for a foul mail; or SMFIS_TEMPFAIL after a failure: a forged
 * field must not get through. */
sfsistat nb_milter_answer_forged(SMFICTX *ctx, const struct nb_milter_mail *mail);

/* Carries out bayesd's reply. A mail whose header cannot be changed is deferred. */
sfsistat nb_milter_answer(SMFICTX *ctx, const struct nb_milter_options *options,
                          const struct nb_milter_mail *mail, const struct nb_milter_reply *reply);

/* Answers for a mail that has no verdict, because of `error`, and logs the error. */
sfsistat nb_milter_answer_unchecked(SMFICTX *ctx, const struct nb_milter_options *options,
                                    const struct nb_milter_mail *mail,
                                    const struct nb_error *error);

/* Registers the callbacks; settings must hold before a mail comes. Main thread. Returns 0 or
 * NB_NO_MEMORY. */
int nb_milter_register(void);

#endif
