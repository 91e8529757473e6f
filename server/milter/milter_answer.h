/* SPDX-License-Identifier: Apache-2.0
 *
 * What the mail server is told about a mail: changes of its header and the SMTP reply. Called by
 * callbacks at the end of a mail, on their thread.
 */
#ifndef NB_SERVER_MILTER_MILTER_ANSWER_H
#define NB_SERVER_MILTER_MILTER_ANSWER_H

#include <libmilter/mfapi.h>

#include "server/milter/command_line.h"
#include "server/milter/milter_mail.h"
#include "server/milter/milter_reply.h"

/* Removes the fields NB_MILTER_STATUS that the mail brings, also where only some readers see them.
 * Returns SMFIS_CONTINUE; SMFIS_REJECT for a foul mail; or SMFIS_TEMPFAIL when it fails: a forged
 * field must not get through. */
sfsistat nb_milter_answer_forged(SMFICTX *ctx, const struct nb_milter_mail *mail);

/* Carries out bayesd's reply. A mail whose header cannot be changed is deferred. */
sfsistat nb_milter_answer(SMFICTX *ctx, const struct nb_milter_options *options,
                          const struct nb_milter_mail *mail, const struct nb_milter_reply *reply);

/* Answers for a mail about which there is no verdict, for the reason in `error`, and logs it. */
sfsistat nb_milter_answer_unchecked(SMFICTX *ctx, const struct nb_milter_options *options,
                                    const struct nb_milter_mail *mail,
                                    const struct nb_error *error);

#endif
