/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/em_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stack/blend_fields.h"

void nb_document_numbers_deinit(struct nb_document_numbers *n)
{
    free(n->attributes);
    free(n->centres);
    free(n->deviations);
    free(n->values);
    free(n->labelled);
    *n = (struct nb_document_numbers){0};
}

/* ---- numbers of documents with a label ------------------------------------------------------- */

/* Returns the label of the corpus for a place in the view; UINT32_MAX: none. */
static uint32_t label_at(const struct nb_corpus *c, const struct nb_blend *blend, uint32_t place,
                         uint32_t *at)
{
    if (c->viewed.count > 0)
        return nb_viewed_label(&c->viewed, blend, place, at);
    for (uint32_t v = 0; v < c->labels; v++)
        if (c->numbers[v] == blend->labels[place].numbers[0])
            return v;
    return UINT32_MAX;
}

static struct nb_normal scaled(const struct nb_document_numbers *n, uint32_t field,
                               struct nb_normal normal)
{
    double deviation = n->deviations[field];
    normal.mean = (normal.mean - n->centres[field]) / deviation;
    normal.variance = fmax(normal.variance, 0) / (deviation * deviation);
    return normal;
}

static void put_labelled(const struct nb_document_numbers *n, const struct nb_corpus *c,
                         const struct nb_blend *blend, struct nb_normal *labelled)
{
    for (uint32_t place = 0, at = 0; place < blend->size; place++) {
        uint32_t v = label_at(c, blend, place, &at);
        for (uint32_t field = 0; v != UINT32_MAX && field < n->count; field++)
            labelled[(size_t)field * c->labels + v] =
                scaled(n, field, nb_blend_numbers_of(blend, n->attributes[field], place, NULL));
    }
}

int nb_document_numbers_labelled(const struct nb_document_numbers *n, const struct nb_corpus *c,
                                 struct nb_parent_chain *chain, const struct nb_besides *besides,
                                 struct nb_blend *blend, struct nb_normal *labelled)
{
    int rc = 0;
    memset(labelled, 0, (size_t)n->count * c->labels * sizeof *labelled);
    nb_parent_chain_lock(chain);
    if (chain->contributor_count > 0 && chain->contributors[0] == 0) {
        rc = nb_parent_chain_blend_beside(chain, NULL, besides, blend);
        if (rc == 0)
            put_labelled(n, c, blend, labelled);
    }
    nb_parent_chain_unlock(chain);
    return rc;
}

/* ---- numbers of all documents ---------------------------------------------------------------- */

static int make_room(struct nb_document_numbers *n, const struct nb_corpus *c,
                     const struct nb_settings *settings)
{
    for (size_t i = 0; i < settings->attribute_count; i++)
        n->count += settings->attributes[i].kind == NB_FIELD_KIND_NUMBER;
    if (n->count == 0)
        return 0;
    n->attributes = calloc(n->count, sizeof *n->attributes);
    n->centres = calloc(n->count, sizeof *n->centres);
    n->deviations = calloc(n->count, sizeof *n->deviations);
    n->values = malloc((c->unlabelled.count * n->count + 1) * sizeof *n->values);
    n->labelled = calloc((size_t)n->count * c->labels + 1, sizeof *n->labelled);
    bool good = n->attributes != NULL && n->centres != NULL && n->deviations != NULL &&
                n->values != NULL && n->labelled != NULL;
    for (size_t i = 0, field = 0; good && i < settings->attribute_count; i++)
        if (settings->attributes[i].kind == NB_FIELD_KIND_NUMBER) {
            n->deviations[field] = 1;
            n->attributes[field++] = (unsigned)i;
        }
    return good ? 0 : NB_NO_MEMORY;
}

/* Returns the field of a feature that is a number; `count` if there is none. */
static uint32_t field_of(const struct nb_document_numbers *n, uint64_t id)
{
    uint32_t field = 0;
    if (!nb_feature_is_number(id))
        return n->count;
    while (field < n->count && n->attributes[field] != nb_feature_part(id) / 2)
        field++;
    return field;
}

typedef void visitor(const struct nb_document_numbers *n, size_t document, uint32_t field,
                     uint64_t id, void *user);

static void visit(const struct nb_document_numbers *n, const struct nb_corpus *c, visitor *call,
                  void *user)
{
    const struct nb_corpus_part *p = &c->unlabelled;
    for (size_t d = 0; d < p->count; d++)
        for (size_t i = p->middle[d]; i < p->end[d]; i++) {
            uint64_t id = c->ids[p->columns[i]];
            uint32_t field = field_of(n, id);
            if (field < n->count)
                call(n, d, field, id, user);
        }
}

static void add(const struct nb_document_numbers *n, size_t document, uint32_t field, uint64_t id,
                void *user)
{
    struct nb_moments *moments = user;
    (void)n;
    (void)document;
    nb_moments_add(&moments[field], nb_decimal_fixed(id), 1, 1);
}

static void put(const struct nb_document_numbers *n, size_t document, uint32_t field, uint64_t id,
                void *user)
{
    double *values = user;
    double number = nb_int128_double(nb_decimal_fixed(id)) * NB_FIXED_UNIT;
    values[document * n->count + field] = (number - n->centres[field]) / n->deviations[field];
}

/* Equal numbers may differ from their mean in the last bits. */
static bool differ(struct nb_normal all)
{
    double rounding = 1e-14 * all.mean;
    return all.variance > rounding * rounding;
}

/* Keeps the fields whose numbers differ, with the mean and deviation of these numbers. */
static void choose_fields(struct nb_document_numbers *n, const struct nb_corpus *c,
                          const struct nb_moments *without)
{
    uint32_t kept = 0;
    for (uint32_t field = 0; field < n->count; field++) {
        struct nb_normal all = nb_normal_of(&without[field], 1);
        for (uint32_t v = 0; v < c->labels; v++)
            all = nb_normal_merge(all, n->labelled[(size_t)field * c->labels + v]);
        if (!differ(all))
            continue;
        n->attributes[kept] = n->attributes[field];
        n->centres[kept] = all.mean;
        n->deviations[kept++] = sqrt(all.variance);
    }
    n->count = kept;
}

int nb_document_numbers_read(struct nb_document_numbers *n, const struct nb_corpus *c,
                             struct nb_parent_chain *chain)
{
    struct nb_blend blend = {0};
    *n = (struct nb_document_numbers){0};
    if (make_room(n, c, &chain->published[0]->settings) != 0)
        return NB_NO_MEMORY;
    if (n->count == 0)
        return 0;
    struct nb_moments *without = calloc(n->count, sizeof *without);
    int rc = without == NULL ? NB_NO_MEMORY
                             : nb_document_numbers_labelled(n, c, chain, NULL, &blend, n->labelled);
    if (rc == 0) {
        visit(n, c, add, without);
        choose_fields(n, c, without);
        for (size_t i = 0; i < c->unlabelled.count * n->count; i++)
            n->values[i] = (double)NAN;
        visit(n, c, put, n->values);
        rc = nb_document_numbers_labelled(n, c, chain, NULL, &blend, n->labelled);
    }
    free(without);
    nb_blend_deinit(&blend);
    return rc;
}
