/* SPDX-License-Identifier: Apache-2.0
 *
 * What a verb of a line protocol is: RSPAMC (rspamd's before HTTP; Exim's `variant=rspamd`) or
 * SPAMC (SpamAssassin's spamd/PROTOCOL; spamc, Exim, Haraka). Types alone.
 */
#ifndef NB_SERVER_MAIL_LINE_ROUTE_H
#define NB_SERVER_MAIL_LINE_ROUTE_H

#include "server/request/request.h"

struct nb_line_protocol {
    struct nb_protocol protocol; /* of its routes */
    const char *greeting;        /* what stands between verb and version: " SPAMC/" */
    /* The first version whose requests have header fields, major * 100 + minor. */
    unsigned first_with_fields;
    bool takes_zlib; /* the header field Compress */
};

struct nb_line_route {
    struct nb_route route; /* of NB_BODY_DOCUMENTS; or NB_BODY_NONE: its first line is all of it.
                              `method` is the verb, `pattern` the protocol's name */
    const struct nb_line_protocol *protocol;
};

#endif
