/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learn/refit_wanted.h"

#include "core/base/clock.h"

static bool is_same(double fingerprint, double other)
{
    return !(fingerprint < other) && !(fingerprint > other);
}

/* Whether the weights have learned all documents, with the present constants. The twin is ignored
 * if it is switched off. */
static bool is_fitted(const struct nb_live *live)
{
    const struct nb_published *p = live->published;
    double fitted = nb_order_fingerprint(nb_stack_weights_order(p->weights));
    return is_same(fitted, nb_stack_fingerprint(p->stack, true)) ||
           (!p->settings.twin && is_same(fitted, nb_stack_fingerprint(p->stack, false)));
}

int nb_refit_note_missed(struct nb_live *live)
{
    const struct nb_published *p = live->published;
    struct nb_weights *order = nb_stack_weights_order(p->weights);
    double with_twin = nb_stack_fingerprint(p->stack, true);
    if (p->settings.twin || !is_same(nb_order_fingerprint(order), with_twin))
        return 0;
    return nb_order_set_fingerprint(order, nb_stack_fingerprint(p->stack, false));
}

/* Whether a refit is under way that began with the present constants. */
static bool is_under_way(const struct nb_live *live)
{
    const struct nb_published *p = live->published;
    return live->fit != NULL && is_same(nb_stack_fit_fingerprint(live->fit),
                                        nb_stack_fingerprint(p->stack, p->settings.twin));
}

enum nb_order_refit nb_refit_why(const struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    if (!is_fitted(live))
        return NB_REFIT_STALE;
    return nb_order_wants_idle(order, nb_model_documents_all(live->counts)) ? NB_REFIT_OF_SKEW
                                                                            : NB_REFIT_OF_GROWTH;
}

static bool has_stacked_documents(const struct nb_live *live)
{
    return nb_published_is_stacked(live->published) && nb_model_documents_all(live->counts) > 0;
}

bool nb_refit_is_due(const struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    if (!nb_published_is_stacked(live->published) || is_under_way(live))
        return false;
    /* A lost refit begins again even without documents: in a replay it is under way, and the next
     * change must have the same effect. */
    return nb_order_is_refitting(order) ||
           (nb_model_documents_all(live->counts) > 0 && !is_fitted(live));
}

/* Whether a refit is due or under way: the writer then writes a REFIT entry whenever it is idle. */
static bool refit_is_begun(const struct nb_live *live)
{
    return nb_refit_is_due(live) || (live->fit != NULL && has_stacked_documents(live));
}

bool nb_refit_is_next(const struct nb_live *live)
{
    return refit_is_begun(live) && (nb_refit_is_due(live) || atomic_load(&live->is_stale) ||
                                    !nb_order_is_small(nb_model_documents_all(live->counts)) ||
                                    nb_clock_monotonic() - live->changed >= NB_REFIT_REST);
}

bool nb_refit_rests(const struct nb_live *live)
{
    return refit_is_begun(live) && !nb_refit_is_next(live);
}

bool nb_refit_is_wanted(const struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    return refit_is_begun(live) ||
           (has_stacked_documents(live) &&
            nb_order_wants_idle(order, nb_model_documents_all(live->counts)));
}

void nb_refit_note(struct nb_live *live)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    bool is_stale =
        !is_fitted(live) || nb_order_is_stale(order, nb_model_documents_all(live->counts));
    atomic_store(&live->is_stale, has_stacked_documents(live) && is_stale);
    atomic_store(&live->wants_refit, nb_refit_is_wanted(live));
    atomic_store(&live->is_skewed, has_stacked_documents(live) && nb_order_is_skewed(order));
}
