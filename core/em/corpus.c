/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/corpus.h"

#include <stdlib.h>

static void part_deinit(struct nb_corpus_part *p)
{
    free(p->orders);
    free(p->begin);
    free(p->middle);
    free(p->end);
    free(p->labels);
    free(p->columns);
    free(p->counts);
}

void nb_corpus_deinit(struct nb_corpus *c)
{
    part_deinit(&c->unlabelled);
    part_deinit(&c->labelled);
    free(c->rows);
    free(c->ids);
    free(c->learned);
    free(c->groups);
    free(c->part_vocabulary);
    free(c->numbers);
    free(c->documents);
    free(c->word_counts);
    nb_viewed_deinit(&c->viewed);
    *c = (struct nb_corpus){.words = 0};
}

uint32_t nb_corpus_place(const struct nb_corpus *c, uint32_t label)
{
    for (uint32_t v = 0; v < c->labels; v++)
        if (c->numbers[v] == label)
            return v;
    return UINT32_MAX;
}
