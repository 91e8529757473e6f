/* SPDX-License-Identifier: Apache-2.0
 *
 * The header fields of a mail that never count: verdicts of filters and scanners, bayesd's own
 * included, and notes that mailboxes add for themselves. The verdict of another filter would give
 * the answer away while learning, and an attacker can forge it. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_MAIL_MAIL_IGNORED_H
#define NB_TOKENIZER_MAIL_MAIL_IGNORED_H

#include <stdbool.h>

#include "core/base/string.h"

/* Whether the field with this name never counts. The name may be in any case and of any length. */
bool nb_mail_header_ignored(struct nb_string name);

#endif
