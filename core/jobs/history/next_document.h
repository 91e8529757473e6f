/* SPDX-License-Identifier: Apache-2.0
 *
 * A document that would teach much (core/jobs/history/next.h).
 */
#ifndef NB_CORE_JOBS_HISTORY_NEXT_DOCUMENT_H
#define NB_CORE_JOBS_HISTORY_NEXT_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct nb_next_document {
    struct nb_buffer id;        /* owned; may have NUL bytes */
    char *verdict;              /* owned; the label that wins */
    char *message_id, *subject; /* owned; may be empty */
    char *words;                /* owned; some words of the text, with blanks between */
    double probability, margin; /* of the winner; over the runner-up */
    int64_t time;               /* milliseconds since 1970: of the verdict, or when it was stored */
    bool is_remembered;         /* the history has it; else it is stored */
};

#endif
