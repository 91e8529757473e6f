/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass over the counts: of one model, or of a model and its parents.
 */
#include <assert.h>

#include "core/base/array.h"
#include "core/model/learn/learner.h"
#include "core/model/verdict/verdict_private.h"

static void leave_room_for_another(struct nb_verdict *verdict)
{
    assert(verdict->size == 1);
    verdict->unseen_label =
        nb_unseen_label(verdict->labels[0], verdict->documents[0], verdict->probabilities);
    verdict->unseen_probability = 1 - verdict->probabilities[0];
}

static struct nb_found found_of(const struct nb_verdict_private *p)
{
    return (struct nb_found){.rows = p->rows, .cells = p->cells};
}

static int score_stacked(struct nb_verdict_private *p)
{
    struct nb_found found = found_of(p);
    nb_stack_inputs_twin(&p->inputs, p->published->weights, false);
    int rc = nb_stack_inputs_found(p->published->stack, p->judge->counts, p->bag.features,
                                   p->bag.size, &found, &p->inputs, NULL);
    return rc != 0 ? rc : nb_stack_score(p->published->weights, &p->inputs, &p->stacked);
}

/* The rows are looked up and read once, and used for both scores and the explanation. */
static int find_rows(struct nb_verdict_private *p)
{
    size_t size = p->bag.size;
    if (nb_array_reserve(&p->rows, &p->row_room, size, sizeof *p->rows) != 0 ||
        nb_array_reserve(&p->cells, &p->cell_room, size, sizeof *p->cells) != 0)
        return NB_NO_MEMORY;
    nb_model_find_cells(p->judge->counts, p->bag.features, size, p->rows, p->cells);
    return 0;
}

/* Scores with expected counts of documents without a label; nb_verdict_fill pools them with the
 * model's own scores.
 */
static int score_beside(struct nb_verdict_private *p)
{
    int rc = nb_family_blend(&p->family);
    if (rc == 0)
        rc = nb_blend_score(&p->family.blend, p->bag.features, p->bag.size, NULL, &p->stacked);
    return rc;
}

/* One model of the family has all documents: usually the model itself. */
static int score_alone(struct nb_verdict_private *p, struct nb_error *error)
{
    int rc = find_rows(p);
    struct nb_found found = found_of(p);
    if (rc == 0)
        rc = nb_score_found(nb_verdict_scorer(p), p->judge->counts, p->bag.features, p->bag.size,
                            &found, &p->scores, error);
    if (rc != 0 || !nb_published_is_stacked(p->published))
        return rc;
    return p->refined != NULL ? score_beside(p) : score_stacked(p);
}

static int score_together(struct nb_verdict_private *p)
{
    int rc = nb_family_blend(&p->family);
    if (rc == 0)
        rc = nb_blend_score(&p->family.blend, p->bag.features, p->bag.size, &p->scores,
                            nb_published_is_stacked(p->published) ? &p->stacked : NULL);
    return rc;
}

static void choose_judge(struct nb_verdict_private *p)
{
    const struct nb_family *family = &p->family;
    unsigned first = family->speaker_count > 0 ? family->speakers[0] : 0;
    p->judge = family->speaker_count > 1 ? NULL : family->live[first];
    p->refined = nb_family_refined(family);
    p->published = family->published[first];
    bool has_fields = p->published->settings.attribute_count > 0;
    if (p->refined != NULL && has_fields && !nb_published_is_stacked(p->published))
        p->judge = NULL; /* a scorer has no values of fields beside those of its counts */
}

/* All reads of the counts are under one hold of the family's read locks. */
int nb_verdict_score(struct nb_verdict *verdict, size_t most, struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_settings *settings = &p->family.published[0]->settings;
    p->inputs.is_brief = most == 0;
    nb_family_lock(&p->family);
    choose_judge(p);
    int rc = p->judge != NULL ? score_alone(p, error) : score_together(p);
    if (rc == 0)
        rc = nb_verdict_fill(verdict);
    verdict->unseen_label = NULL;
    if (rc == 0 && verdict->stacked && verdict->size == 1)
        leave_room_for_another(verdict);
    verdict->ready_documents = settings->ready_documents;
    if (rc == 0)
        nb_verdict_fill_ready(verdict);
    verdict->unsure_band = settings->unsure_band;
    verdict->keeps_history = settings->history > 0;
    verdict->keeps_subject = settings->history_subject;
    if (rc == 0 && most > 0)
        rc = nb_verdict_explain(verdict, most);
    nb_family_unlock(&p->family);
    return rc;
}
