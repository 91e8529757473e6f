/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/draw_texts.h"

#include <assert.h>
#include <math.h>

/* By inversion: the least k at which P(X <= k) reaches u, and no more than `most`. */
static size_t draw_length(struct nb_random *series, double mean, size_t most)
{
    double u = nb_random_fraction(series), log_p = -mean, below = exp(log_p);
    size_t k = 0;
    while (k < most && mean > 0 && below < u) {
        log_p += log(mean) - log((double)++k);
        double p = exp(log_p);
        if ((double)k > mean && below + p <= below) /* what rounding has left is above u */
            break;
        below += p;
    }
    return k;
}

int nb_draw_text_begin(struct nb_positions *text, struct nb_random *series, double mean,
                       double temperature, size_t *left)
{
    assert(mean >= 0);
    size_t length = draw_length(series, mean, *left);
    *left -= length;
    return nb_positions_begin(text, length, nb_random_next(series), temperature);
}

struct texts_walk {
    const struct nb_label_walk *walk;
    struct nb_positions *texts;
};

static void pass_row(void *user, const struct nb_attribute_scores *scores, uint32_t row,
                     uint32_t place)
{
    const struct texts_walk *w = user;
    const struct nb_model *counts = w->walk->live->counts;
    const struct nb_settings *settings = &w->walk->published->settings;
    struct nb_text_word word;
    if (nb_text_word_of(scores, settings, counts, nb_model_row(counts, row), place, &word))
        nb_positions_offer(&w->texts[word.attribute], nb_model_row_id(counts, row), row,
                           (double)word.count + word.addend);
}

int nb_draw_texts(struct nb_label_walk *walk, struct nb_positions *texts, struct nb_error *error)
{
    struct texts_walk w = {walk, texts};
    size_t attributes = nb_label_walk_attributes(walk), words = 0;
    for (size_t i = 0; i < attributes; i++)
        words += texts[i].length;
    int rc = words > 0 ? nb_label_walk_rows(walk, pass_row, &w, error) : 0;
    for (size_t i = 0; i < attributes; i++)
        nb_positions_sort(&texts[i]);
    return rc;
}
