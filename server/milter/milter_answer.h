/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers the mail server about a mail: changes of its header and the SMTP reply. Callbacks call
 * this at the end of a mail, on their thread.
 */
#ifndef NB_SERVER_MILTER_MILTER_ANSWER_H
#define NB_SERVER_MILTER_MILTER_ANSWER_H

#include <libmilter/mfapi.h>

#include "server/milter/command_line.h"
#include "server/milter/milter_mail.h"
#include "server/milter/milter_reply.h"

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

#endif
