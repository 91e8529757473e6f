/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/notify.h"

#include <systemd/sd-daemon.h>

void nb_notify(const char *state)
{
    (void)sd_notify(0, state); /* see the header */
}
