/* SPDX-License-Identifier: Apache-2.0
 *
 * Words drawn in one walk over the rows, in memory for the document alone. Each position of the
 * document is a reservoir of one item (Chao 1982): when the weights of the words so far, this one's
 * included, sum to W, the word takes the place with probability w / W; at the end each word has it
 * with its share of all. The next word that does is found without a random number for each word
 * (Efraimidis and Spirakis 2006, exponential jumps): it is the first at which the sum reaches W /
 * u, u uniform in (0, 1]. A position changes about ln |V| times; a heap has the one that changes
 * next.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/random.h"
#include "core/generate/generate.h"
#include "core/generate/label_walk.h"
#include "core/live/state.h"
#include "core/store/row_texts.h"

struct position {
    double next; /* the sum of weights at which another word takes the place */
    uint64_t feature;
    struct nb_random random; /* its own: what a position draws does not depend on the others */
    uint32_t row;
    uint32_t place; /* in the document */
};

struct drawing {
    struct position *heap; /* owned; `next` of a node is at most that of its children */
    size_t length;
    double power;             /* 1 / temperature */
    double sum;               /* of the weights so far */
    double last, last_weight; /* the count with its addend: most words have the same as others */
};

/* ---- the walk -------------------------------------------------------------------------------- */

static double fraction(struct nb_random *random)
{
    return (double)((nb_random_next(random) >> 11) + 1) * 0x1p-53;
}

static void sift(struct drawing *d)
{
    struct position moved = d->heap[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= d->length)
            break;
        if (child + 1 < d->length && d->heap[child + 1].next < d->heap[child].next)
            child++;
        if (moved.next <= d->heap[child].next)
            break;
        d->heap[at] = d->heap[child];
        at = child;
    }
    d->heap[at] = moved;
}

/* In proportion to P(w | v): what all words of the label are divided by is left out. */
static double weight_of(struct drawing *d, const struct nb_walked_word *word)
{
    double count = (double)word->count + word->addend;
    if (d->power == 1)
        return count;
    if (count < d->last || count > d->last) {
        d->last = count;
        d->last_weight = pow(count, d->power);
    }
    return d->last_weight;
}

static void pass_word(void *user, const struct nb_word_law *law, const struct nb_walked_word *word)
{
    struct drawing *d = user;
    (void)law;
    double weight = weight_of(d, word);
    if (!(weight > 0)) /* the estimate is 0, or a power that a double cannot hold */
        return;
    d->sum += weight;
    while (d->heap[0].next <= d->sum) {
        struct position *p = &d->heap[0];
        p->feature = word->feature;
        p->row = word->row;
        p->next = d->sum / fraction(&p->random);
        if (p->next <= d->sum) /* u was 1: the next word has it */
            p->next = nextafter(d->sum, INFINITY);
        sift(d);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct position *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

static int tell_word(struct nb_row_texts *texts, const struct position *p,
                     int (*word)(void *user, struct nb_string word), void *user,
                     struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    int rc = nb_row_texts_get(texts, p->row, p->feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0; /* forgotten meanwhile */
    if (rc == 0 && !is_kept)
        rc = nb_error_set(error, NB_CONFLICT,
                          "words were learned without their texts ([store] keep_words = no): there "
                          "is nothing to write a document with");
    return rc != 0 ? rc : word(user, text);
}

static int tell_words(const struct nb_label_walk *walk, struct drawing *d,
                      int (*word)(void *user, struct nb_string word), void *user,
                      struct nb_error *error)
{
    struct nb_row_texts texts;
    qsort(d->heap, d->length, sizeof *d->heap, by_place);
    int rc =
        nb_row_texts_begin(&texts, walk->engine->store, walk->live->number, walk->live->key, error);
    for (size_t i = 0; rc == 0 && i < d->length; i++)
        rc = tell_word(&texts, &d->heap[i], word, user, error);
    nb_row_texts_end(&texts);
    return rc;
}

static int begin(struct drawing *d, const struct nb_sampling *sampling, struct nb_error *error)
{
    assert(sampling->temperature >= NB_TEMPERATURE_LEAST &&
           sampling->temperature <= NB_TEMPERATURE_MOST);
    *d = (struct drawing){
        .length = sampling->length, .power = 1 / sampling->temperature, .last = -1};
    d->heap = calloc(d->length + 1, sizeof *d->heap);
    if (d->heap == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < d->length; i++)
        d->heap[i] = (struct position){
            .random = nb_random_of(sampling->seed, i), .row = UINT32_MAX, .place = (uint32_t)i};
    return 0;
}

static int draw(struct nb_label_walk *walk, struct drawing *d, struct nb_error *error)
{
    int rc = nb_label_walk_all(walk, pass_word, d, error);
    if (rc == 0 && !(d->sum > 0) && nb_label_walk_attributes(walk) == 0)
        return nb_error_set(error, NB_CONFLICT,
                            "the label has no words in model '%s': nothing can be drawn",
                            walk->live->name);
    return rc;
}

int nb_generate_sample(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling,
                       int (*word)(void *user, struct nb_string word), void *user,
                       struct nb_error *error)
{
    struct nb_label_walk walk;
    struct drawing d;
    struct nb_error why = {0};
    int rc = nb_label_walk_begin(&walk, engine, model, sampling->label, error);
    if (rc != 0)
        return rc;
    rc = begin(&d, sampling, &why);
    if (rc == 0 && d.length > 0)
        rc = draw(&walk, &d, &why);
    if (rc == 0 && d.sum > 0)
        rc = tell_words(&walk, &d, word, user, &why);
    rc = nb_live_note(walk.live, rc, &why, error);
    free(d.heap);
    nb_label_walk_end(&walk);
    return rc;
}
