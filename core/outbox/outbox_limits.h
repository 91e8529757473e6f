/* SPDX-License-Identifier: Apache-2.0
 *
 * How much may wait in an outbox.
 */
#ifndef NB_CORE_OUTBOX_OUTBOX_LIMITS_H
#define NB_CORE_OUTBOX_OUTBOX_LIMITS_H

#include <stdint.h>

struct nb_outbox_limits {
    uint64_t bytes, entries; /* that wait; 0: nothing is added */
};

#endif
