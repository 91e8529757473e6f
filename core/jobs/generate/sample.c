/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>

#include "core/base/buffer.h"
#include "core/jobs/generate/distribution.h"
#include "core/jobs/generate/draw_values.h"
#include "core/jobs/generate/generate.h"
#include "core/jobs/generate/label_walk.h"
#include "core/ledger/entries/ledger_features.h"
#include "core/model/live/state.h"

/* Reports the drawn values (draw_values.h) with their texts. Numbers are drawn here: a Gaussian to
 * the power 1 / T has T times the variance, and is drawn by the transform of Box and Muller (1958).
 */
struct telling {
    struct nb_label_walk walk;
    const struct nb_sampling *sampling;
    const struct nb_values_sink *sink;
    struct nb_row_texts texts;
    struct nb_drawn_values drawn;
};

static const struct nb_attribute *attribute_at(const struct telling *d, size_t attribute)
{
    return &d->walk.published->settings.attributes[attribute];
}

/* ---- reporting ------------------------------------------------------------------------------- */

/* Sets *value; its bytes are NULL if it was forgotten meanwhile. */
static int text_of(struct telling *d, uint32_t row, uint64_t feature, struct nb_string field,
                   struct nb_string *value, struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    *value = (struct nb_string){NULL, 0};
    int rc = nb_row_texts_get(&d->texts, row, feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0 && !is_kept)
        rc = nb_error_set(error, NB_CONFLICT,
                          "values were learned without their texts ([store] keep_words = no): "
                          "there is nothing to write a document with");
    if (rc == 0)
        *value = nb_value_of_text(text, field);
    return rc;
}

static int tell_category(struct telling *d, size_t attribute, struct nb_string field,
                         struct nb_error *error)
{
    struct nb_string value;
    const struct nb_drawn_value *drawn = &d->drawn.categories[attribute];
    if (!drawn->is_there)
        return 0;
    int rc = text_of(d, drawn->row, drawn->feature, field, &value, error);
    return rc != 0 || value.bytes == NULL ? rc : d->sink->string(d->sink->user, field, value);
}

/* *at is the place of the first member of this set or a later one. */
static int tell_set(struct telling *d, size_t attribute, struct nb_string field, size_t *at,
                    struct nb_error *error)
{
    int rc = d->sink->set(d->sink->user, field);
    for (; rc == 0 && *at < d->drawn.member_count && d->drawn.members[*at].attribute == attribute;
         ++*at) {
        const struct nb_drawn_value *drawn = &d->drawn.members[*at].value;
        struct nb_string value;
        rc = text_of(d, drawn->row, drawn->feature, field, &value, error);
        if (rc == 0 && value.bytes != NULL)
            rc = d->sink->member(d->sink->user, value);
    }
    return rc;
}

static int add_word(struct telling *d, const struct nb_position *p, struct nb_string field,
                    struct nb_buffer *words, struct nb_error *error)
{
    struct nb_string word;
    int rc = text_of(d, p->row, p->feature, field, &word, error);
    if (rc != 0 || word.bytes == NULL)
        return rc;
    if ((words->length > 0 && nb_buffer_append(words, " ", 1) != 0) ||
        nb_buffer_append(words, word.bytes, word.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

static int tell_text(struct telling *d, size_t attribute, struct nb_string field,
                     struct nb_error *error)
{
    const struct nb_positions *text = &d->drawn.texts[attribute];
    struct nb_buffer words = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && text->sum > 0 && i < text->length; i++)
        rc = add_word(d, &text->heap[i], field, &words, error);
    if (rc == 0)
        rc = d->sink->string(d->sink->user, field,
                             words.length > 0 ? nb_buffer_string(&words) : nb_string_of(""));
    nb_buffer_deinit(&words);
    return rc;
}

static int tell_number(const struct telling *d, size_t attribute, struct nb_string field,
                       const struct nb_attribute_law *law)
{
    static const double two_pi = 6.283185307179586;
    uint64_t id = nb_feature_value_id((unsigned)attribute * 2 + 1, 0);
    struct nb_random random = nb_random_of(d->sampling->seed, id);
    double radius = sqrt(-2 * log(nb_random_fraction(&random)) * d->sampling->temperature);
    double normal = radius * cos(two_pi * nb_random_fraction(&random));
    return d->sink->number(d->sink->user, field, law->mean + law->deviation * normal);
}

static int tell_field(struct telling *d, size_t attribute, size_t *at, struct nb_error *error)
{
    struct nb_string field = nb_string_of(attribute_at(d, attribute)->name);
    struct nb_attribute_law law;
    uint64_t documents;
    if (!d->drawn.has[attribute])
        return 0;
    int rc = nb_label_walk_attribute(&d->walk, attribute, &law, &documents, error);
    if (rc != 0)
        return rc;
    if (law.has_number)
        return tell_number(d, attribute, field, &law);
    switch ((enum nb_field_kind)attribute_at(d, attribute)->kind) {
    case NB_FIELD_KIND_CATEGORY:
        return tell_category(d, attribute, field, error);
    case NB_FIELD_KIND_SET:
        return law.values > 0 ? tell_set(d, attribute, field, at, error) : 0;
    case NB_FIELD_KIND_TEXT:
        return tell_text(d, attribute, field, error);
    case NB_FIELD_KIND_NUMBER:
        break;
    }
    return 0;
}

static int tell_values(struct telling *d, struct nb_error *error)
{
    const struct nb_live *live = d->walk.live;
    size_t at = 0;
    int rc = nb_row_texts_begin(&d->texts, d->walk.engine->store, live->number, live->key, error);
    for (size_t i = 0; rc == 0 && i < nb_label_walk_attributes(&d->walk); i++)
        rc = tell_field(d, i, &at, error);
    nb_row_texts_end(&d->texts);
    return rc;
}

int nb_generate_values(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling, const struct nb_values_sink *sink,
                       struct nb_error *error)
{
    struct telling d = {.sampling = sampling, .sink = sink};
    struct nb_error why = {0};
    int rc = nb_label_walk_begin(&d.walk, engine, model, sampling->label, error);
    if (rc != 0)
        return rc;
    if (nb_label_walk_attributes(&d.walk) > 0) {
        rc = nb_draw_values(&d.walk, sampling, &d.drawn, &why);
        if (rc == 0)
            rc = tell_values(&d, &why);
        rc = nb_live_note(d.walk.live, rc, &why, error);
    }
    nb_drawn_values_deinit(&d.drawn);
    nb_label_walk_end(&d.walk);
    return rc;
}

static void pass_word(void *user, const struct nb_word_law *law, const struct nb_walked_word *word)
{
    (void)law;
    nb_positions_offer(user, word->feature, word->row, (double)word->count + word->addend);
}

static int tell_word(struct nb_row_texts *texts, const struct nb_position *p,
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

static int tell_words(const struct nb_label_walk *walk, struct nb_positions *p,
                      int (*word)(void *user, struct nb_string word), void *user,
                      struct nb_error *error)
{
    struct nb_row_texts texts;
    nb_positions_sort(p);
    int rc =
        nb_row_texts_begin(&texts, walk->engine->store, walk->live->number, walk->live->key, error);
    for (size_t i = 0; rc == 0 && i < p->length; i++)
        rc = tell_word(&texts, &p->heap[i], word, user, error);
    nb_row_texts_end(&texts);
    return rc;
}

static int draw(struct nb_label_walk *walk, struct nb_positions *p, struct nb_error *error)
{
    int rc = nb_label_walk_all(walk, pass_word, p, error);
    if (rc == 0 && !(p->sum > 0) && nb_label_walk_attributes(walk) == 0)
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
    struct nb_positions p = {0};
    struct nb_error why = {0};
    assert(sampling->temperature >= NB_TEMPERATURE_LEAST &&
           sampling->temperature <= NB_TEMPERATURE_MOST);
    int rc = nb_label_walk_begin(&walk, engine, model, sampling->label, error);
    if (rc != 0)
        return rc;
    rc = nb_positions_begin(&p, sampling->length, sampling->seed, sampling->temperature);
    if (rc != 0)
        (void)nb_error_no_memory(&why);
    if (rc == 0 && p.length > 0)
        rc = draw(&walk, &p, &why);
    if (rc == 0 && p.sum > 0)
        rc = tell_words(&walk, &p, word, user, &why);
    rc = nb_live_note(walk.live, rc, &why, error);
    nb_positions_deinit(&p);
    nb_label_walk_end(&walk);
    return rc;
}
