/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the next documents of a refit's sample, or of its pass, on several threads, and counts
 * their cost. On the thread that changes the model. For core/model/learn/refit.c and the owner of
 * its memory.
 */
#ifndef NB_CORE_MODEL_LEARN_REFIT_READER_H
#define NB_CORE_MODEL_LEARN_REFIT_READER_H

#include "core/model/learn/drawn.h"

enum { NB_REFIT_AT_ONCE = 32 }; /* documents that are read at once, at most */

struct nb_refit_reading {
    struct nb_drawn drawn;
    bool is_current; /* its entry was not superseded */
    int code;        /* result of the last step */
};

/* Memory and threads for reading documents; used for one slice after the other. */
struct nb_refit_reader {
    struct nb_helpers *helpers;
    const struct nb_live *live;          /* of the slice under way */
    const struct nb_stack_weights *twin; /* whose inputs are computed, too; NULL: none */
    size_t size;
    struct nb_refit_reading readings[NB_REFIT_AT_ONCE];
};
/* NULL: out of memory. */
struct nb_refit_reader *nb_refit_reader_new(void);
void nb_refit_reader_free(struct nb_refit_reader **reader);

/* Units of work, of about two nanoseconds, for a document that was read. If other documents have
 * its label, the document counts in full, whether it teaches or not: a replay must count the same
 * cost for a change. */
uint64_t nb_refit_cost(const struct nb_live *live, const struct nb_drawn *drawn, bool found);

/* Reads the next documents into `readings`, with the inputs of `twin` (NULL: none): as many
 * documents as `most` units are likely to suffice for, and at most `count`. */
void nb_refit_read(struct nb_refit_reader *reader, const struct nb_live *live,
                   const struct nb_stack_weights *twin, const struct nb_view *view, uint64_t most,
                   size_t count);

#endif
