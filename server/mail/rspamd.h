/* SPDX-License-Identifier: Apache-2.0
 *
 * rspamd's HTTP protocol: what its clients ask of a scanner and of a controller. What they are told
 * is decided in filter.c. For the thread that works on the request.
 */
#ifndef NB_SERVER_MAIL_RSPAMD_H
#define NB_SERVER_MAIL_RSPAMD_H

#include "server/request/request.h"

/* What a route's handler does (nb_route's `verb`). */
enum nb_rspamd_verb {
    NB_RSPAMD_CHECK = 1, /* the reply of /checkv2 */
    NB_RSPAMD_CHECK_OLD, /* of /check, /symbols and /scan */
    NB_RSPAMD_LEARN_SPAM,
    NB_RSPAMD_LEARN_HAM
};

extern const struct nb_protocol nb_protocol_rspamd;

nb_handler nb_route_rspamd_check;
nb_handler nb_route_rspamd_learn;
nb_handler nb_route_rspamd_ping;
nb_handler nb_route_rspamd_stat;
nb_handler nb_route_rspamd_auth;

#endif
