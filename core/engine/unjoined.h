/* SPDX-License-Identifier: Apache-2.0
 *
 * The relay (core/model/live/relay.h) of a node that has not found the others yet, or has left
 * them: it refuses all changes. Constant; any thread.
 */
#ifndef NB_CORE_ENGINE_UNJOINED_H
#define NB_CORE_ENGINE_UNJOINED_H

#include "core/model/live/relayed.h"

extern const struct nb_relay nb_unjoined;

#endif
