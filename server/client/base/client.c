/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/client.h"

#include <signal.h>
#include <stddef.h>
#include <sysexits.h>

int nb_exit_status(int code)
{
    static const struct {
        int code, status;
    } STATUSES[] = {
        {NB_NO_MEMORY, EX_OSERR},
        {NB_NOT_FOUND, EX_NOINPUT},
        {NB_IO, EX_IOERR},
        {NB_DISK_FULL, EX_IOERR},
        {NB_EXISTS, EX_CANTCREAT},
        {NB_CALL_UNREACHABLE, EX_UNAVAILABLE},
        {NB_CALL_FORBIDDEN, EX_NOPERM},
        {NB_CALL_BUSY, EX_TEMPFAIL},
        {NB_CALL_PROTOCOL, EX_PROTOCOL},
        {NB_CALL_BAD_URL, EX_USAGE},
        {NB_CLIENT_USAGE, EX_USAGE},
        {NB_STOPPING, 128 + SIGINT}, /* as a shell reports a program ended by a signal */
    };
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++)
        if (STATUSES[i].code == code)
            return STATUSES[i].status;
    return EX_DATAERR;
}
