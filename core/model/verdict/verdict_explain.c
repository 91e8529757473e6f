/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of the bag's tokens for the winner against the runner-up.
 */
#include <assert.h>
#include <string.h>

#include "core/base/array.h"
#include "core/counts/counts.h"
#include "core/model/verdict/evidence_order.h"
#include "core/model/verdict/verdict_private.h"

/* The rows in the order of the bag, and their sums by field. */
static int find_evidence(struct nb_verdict_private *p, size_t *count, struct nb_evidence_sums *sums)
{
    const struct nb_published *published = p->published;
    const struct nb_feature *features = p->bag.features;
    size_t size = p->bag.size;
    bool stacked = nb_published_is_stacked(published);
    int rc = 0;
    if (stacked && p->refined != NULL) {
        rc = nb_pooled_explain(&p->pooled, &p->family, features, size, &p->stacked, p->evidence,
                               count);
    } else if (p->judge == NULL) {
        sums->factor = stacked ? p->moderation : 1;
        nb_blend_explain(&p->family.blend, features, size, stacked ? &p->stacked : &p->scores,
                         stacked, p->evidence, count);
    } else if (stacked) {
        sums->factor = p->moderation;
        return nb_stack_explain(published->stack, p->judge->counts, published->weights, features,
                                size, p->rows, &p->inputs, &p->stacked, sums, p->evidence, count);
    } else {
        rc = nb_explain(nb_verdict_scorer(p), p->judge->counts, features, size, p->rows, &p->scores,
                        p->evidence, count);
    }
    if (rc == 0)
        nb_evidence_sum(features, p->evidence, *count, sums);
    return rc;
}

/* Names the models that the evidence comes from, if the model has a parent. */
static void name_sources(struct nb_verdict *verdict)
{
    const struct nb_family *family = &verdict->private_->family;
    verdict->source_count = family->count > 1 ? family->speaker_count : 0;
    for (size_t i = 0; i < verdict->source_count; i++)
        verdict->sources[i] = family->live[family->speakers[i]]->name;
}

static void put_shares(struct nb_verdict *verdict, const struct nb_evidence *e,
                       struct nb_explained *x)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_feature *feature =
        e->feature == NB_NO_FEATURE ? NULL : &p->bag.features[e->feature];
    memset(x->shares, 0, sizeof x->shares);
    if (p->judge == NULL)
        nb_blend_shares(&p->family.blend, feature, x->shares);
    else
        x->shares[0] = 1;
}

/* Sets the token's occurrences in documents of the two labels. Numbers have none. */
static void put_counts(struct nb_verdict *verdict, const struct nb_evidence *e,
                       struct nb_explained *x)
{
    const struct nb_verdict_private *p = verdict->private_;
    x->has_counts = false;
    x->counts[0] = x->counts[1] = 0;
    if (!verdict->wants_counts || p->judge == NULL || p->refined != NULL ||
        e->feature == NB_NO_FEATURE)
        return;
    const struct nb_model *counts = p->judge->counts;
    struct nb_row row = {p->bag.features[e->feature].id, p->cells[e->feature]};
    x->has_counts = p->rows[e->feature] != NB_NO_ROW;
    x->counts[0] = nb_counts_occurrences_of(counts, row, p->scores.labels[verdict->best]);
    x->counts[1] = nb_counts_occurrences_of(counts, row, p->scores.labels[verdict->second]);
}

/* The token, and the value that it depends on; the prior's row has none. */
static void put_token(const struct nb_verdict_private *p, const struct nb_evidence *e,
                      struct nb_explained *x)
{
    x->token = x->given = (struct nb_string){NULL, 0};
    x->count = 0;
    x->field = NB_FIELD_BODY;
    if (e->feature == NB_NO_FEATURE)
        return;
    x->token = p->bag.texts[e->feature];
    if (e->given != 0)
        x->given = p->bag.texts[e->given - 1];
    x->field = nb_feature_field(p->bag.features[e->feature].id);
    x->count = p->bag.features[e->feature].count;
}

int nb_verdict_explain(struct nb_verdict *verdict, size_t most)
{
    struct nb_verdict_private *p = verdict->private_;
    struct nb_evidence_sums sums = {.factor = 1};
    size_t count = 0;
    size_t room = p->bag.size + 1; /* twice: for the rows, and to sort them */
    int rc = nb_array_reserve(&p->evidence, &p->evidence_room, 2 * room, sizeof *p->evidence);
    if (rc == 0)
        rc = find_evidence(p, &count, &sums);
    assert(rc != 0 || count > 0);
    if (rc == 0) {
        memcpy(verdict->field_evidence, sums.fields, sizeof sums.fields);
        nb_evidence_sort(p->evidence, count - 1, most, p->evidence + room);
    }
    size_t wanted = count < most + 1 ? count : most + 1;
    if (rc == 0)
        rc = nb_array_reserve(&verdict->explanation, &p->explanation_room, wanted,
                              sizeof *verdict->explanation);
    if (rc != 0)
        return rc;
    verdict->second = verdict->stacked ? p->stacked.second : p->scores.second;
    for (size_t i = 0; i < wanted; i++) {
        /* The prior's row is the last one, and stays last. */
        const struct nb_evidence *e = &p->evidence[i + 1 == wanted ? count - 1 : i];
        struct nb_explained *x = &verdict->explanation[i];
        x->evidence = e->evidence;
        put_token(p, e, x);
        put_shares(verdict, e, x);
        put_counts(verdict, e, x);
    }
    name_sources(verdict);
    verdict->explanation_count = wanted;
    return 0;
}
