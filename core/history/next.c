/* SPDX-License-Identifier: Apache-2.0 */
#include "core/history/next.h"

#include <stdlib.h>

#include "core/base/array.h"
#include "core/history/reading.h"
#include "core/store/row_texts.h"
#include "core/store/twins.h"

enum {
    POOL_MOST = 2000,    /* documents of each kind that are judged */
    SLICE = 50,          /* that are read in one snapshot, and judged behind it */
    LOOKED_MOST = 20000, /* verdicts of the history that are passed */
    KEPT_MOST = 500,     /* least sure ones, among which is chosen */
    WORDS_BYTES = 240,
    WORD_ROWS = 40,
    ENDED = 1,
};

struct candidate {
    struct nb_next_document document; /* owned until it is chosen */
    struct nb_signature signature;
    uint32_t rows[WORD_ROWS]; /* of a stored document: its words that came last into the model */
    size_t row_count;
    double worth; /* 1 - margin, times 1 - the greatest similarity to a chosen one */
};

/* A document that was read and is not judged yet. */
struct read_one {
    struct nb_buffer stored; /* owned: of a verdict, its record; else of an entry, its bag */
    struct nb_buffer id;     /* owned: of an entry */
    int64_t time;
    uint64_t tokens;
};

struct searching {
    struct nb_reading reading;
    struct nb_string model;
    struct read_one slice[SLICE];
    size_t count;
    size_t judged;  /* of the present kind */
    uint64_t at;    /* number of the verdict, or the entry, that comes next */
    size_t passed;  /* verdicts */
    bool has_ended; /* the present kind */
    struct nb_rows rows;
    struct nb_bag bag;
    struct nb_verdict verdict;
    struct candidate *kept; /* owned; KEPT_MOST at most */
    size_t kept_count, kept_room;
    uint64_t looked_at;
};

static void document_deinit(struct nb_next_document *d)
{
    free(d->id);
    free(d->verdict);
    free(d->message_id);
    free(d->subject);
    free(d->words);
}

void nb_next_deinit(struct nb_next *next)
{
    for (size_t i = 0; i < next->count; i++)
        document_deinit(&next->documents[i]);
    free(next->documents);
    *next = (struct nb_next){.documents = NULL};
}

static void search_deinit(struct searching *s)
{
    for (size_t i = 0; i < SLICE; i++) {
        nb_buffer_deinit(&s->slice[i].stored);
        nb_buffer_deinit(&s->slice[i].id);
    }
    for (size_t i = 0; i < s->kept_count; i++)
        document_deinit(&s->kept[i].document);
    free(s->kept);
    nb_rows_deinit(&s->rows);
    nb_bag_deinit(&s->bag);
    nb_verdict_deinit(&s->verdict);
    nb_reading_end(&s->reading);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int add(struct searching *s, struct nb_string stored, struct nb_string id,
               struct nb_error *error)
{
    struct read_one *one = &s->slice[s->count++];
    one->stored.length = one->id.length = 0;
    if (nb_buffer_append(&one->stored, stored.bytes, stored.length) != 0 ||
        nb_buffer_append(&one->id, id.bytes, id.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* A document that is in the ledger has a label, or comes with those that are stored. */
static int take_verdict(struct searching *s, struct nb_string stored, struct nb_error *error)
{
    struct nb_history_record record;
    struct nb_string label;
    bool is_stored;
    int rc = nb_history_read(&record, stored, error);
    if (rc != 0)
        return rc;
    s->has_ended = record.time < s->reading.limits.since;
    if (s->has_ended)
        return 0;
    rc = nb_reading_label(&s->reading, record.id, &is_stored, &label, error);
    return rc != 0 || is_stored ? rc : add(s, stored, record.id, error);
}

static int read_verdicts(struct searching *s, const struct nb_view *view, struct nb_error *error)
{
    struct nb_string stored;
    uint64_t number;
    int rc = 0;
    while (rc == 0 && !s->has_ended && s->count < SLICE && !nb_store_wanted(view)) {
        rc = s->at <= 1 || s->passed++ == LOOKED_MOST
                 ? NB_NOT_FOUND
                 : nb_history_before(view, s->reading.live->number, s->at, &number, &stored, error);
        s->has_ended = rc == NB_NOT_FOUND;
        if (rc != 0)
            break;
        s->at = number;
        rc = take_verdict(s, stored, error);
    }
    return s->has_ended && rc == NB_NOT_FOUND ? 0 : rc;
}

static int take_entry(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct searching *s = user;
    if (s->count == SLICE || nb_store_wanted(&s->reading.view))
        return ENDED;
    s->at = entry->number + 1;
    int rc = add(s, entry->change.bag, entry->change.id, error);
    s->slice[s->count - 1].time = entry->change.time;
    s->slice[s->count - 1].tokens = entry->change.tokens;
    return rc;
}

static int read_stored(struct searching *s, const struct nb_view *view, struct nb_error *error)
{
    int rc = nb_ledger_walk_only(view, s->reading.live->number, s->at, NB_LEDGER_UNLABELLED,
                                 take_entry, s, error);
    s->has_ended = rc == 0;
    return rc == ENDED ? 0 : rc;
}

/* ---- judging --------------------------------------------------------------------------------- */

static void sign(const struct nb_bag *bag, struct nb_signature *signature)
{
    struct nb_signature_maker maker;
    nb_signature_begin(&maker);
    for (size_t i = 0; i < bag->size; i++)
        nb_signature_add(&maker, bag->features[i].id);
    nb_signature_end(&maker, signature);
}

/* How much more likely the winner is than the runner-up. */
static double margin_of(const struct nb_verdict *verdict)
{
    double second = verdict->unseen_label != NULL ? verdict->unseen_probability : 0;
    for (size_t i = 0; i < verdict->size; i++)
        if (i != verdict->best && verdict->probabilities[i] > second)
            second = verdict->probabilities[i];
    return verdict->probabilities[verdict->best] - second;
}

/* The first words of the bag: of a verdict, the first of the text. */
static char *words_of(const struct nb_bag *bag)
{
    char text[WORDS_BYTES + 1];
    size_t length = 0;
    for (size_t i = 0; i < bag->size; i++) {
        struct nb_string word = bag->texts[i];
        bool is_word = nb_feature_field(bag->features[i].id) == NB_FIELD_BODY;
        if (!is_word || length + word.length + 1 > WORDS_BYTES)
            continue;
        if (length > 0)
            text[length++] = ' ';
        memcpy(text + length, word.bytes, word.length);
        length += word.length;
    }
    return nb_string_copy((struct nb_string){text, length});
}

/* The place of a new candidate; NULL: the others are all less sure. What was there is freed. */
static struct candidate *make_place(struct searching *s, double worth, int *rc)
{
    struct candidate *least = s->kept;
    if (s->kept_count < KEPT_MOST) {
        *rc = nb_array_reserve(&s->kept, &s->kept_room, s->kept_count + 1, sizeof *s->kept);
        return *rc == 0 ? &s->kept[s->kept_count++] : NULL;
    }
    for (size_t i = 1; i < s->kept_count; i++)
        least = s->kept[i].worth < least->worth ? &s->kept[i] : least;
    if (least->worth >= worth)
        return NULL;
    document_deinit(&least->document);
    return least;
}

static int keep(struct searching *s, const struct nb_history_record *about, bool is_remembered)
{
    const struct nb_verdict *v = &s->verdict;
    const struct nb_bag none = {.size = 0};
    double margin = margin_of(v);
    int rc = 0;
    struct candidate *c = make_place(s, 1 - margin, &rc);
    if (c == NULL)
        return rc;
    *c = (struct candidate){.worth = 1 - margin};
    struct nb_next_document *d = &c->document;
    *d = (struct nb_next_document){.id = nb_string_copy(about->id),
                                   .verdict = nb_string_copy(nb_string_of(v->labels[v->best])),
                                   .message_id = nb_string_copy(about->message_id),
                                   .subject = nb_string_copy(about->subject),
                                   .words = words_of(is_remembered ? &s->bag : &none),
                                   .probability = v->probabilities[v->best],
                                   .margin = margin,
                                   .time = about->time,
                                   .is_remembered = is_remembered};
    sign(&s->bag, &c->signature);
    for (size_t i = s->rows.size; !is_remembered && i > 0 && c->row_count < WORD_ROWS; i--)
        c->rows[c->row_count++] = s->rows.counts[i - 1].row;
    bool is_whole = d->id != NULL && d->verdict != NULL && d->message_id != NULL &&
                    d->subject != NULL && d->words != NULL;
    return is_whole ? 0 : NB_NO_MEMORY;
}

static int judge_bag(struct searching *s, const struct nb_history_record *about, bool is_remembered,
                     struct nb_error *error)
{
    int rc = nb_engine_classify_bag(s->reading.engine, s->model, &s->bag, 0, &s->verdict, error);
    if (rc == 0 && keep(s, about, is_remembered) != 0)
        rc = nb_error_no_memory(error);
    nb_verdict_reset(&s->verdict);
    s->judged++;
    s->looked_at++;
    return rc;
}

static int judge_verdict(struct searching *s, const struct read_one *one, struct nb_error *error)
{
    struct nb_history_record record;
    int rc = nb_history_read(&record, nb_buffer_string(&one->stored), error);
    if (rc == 0)
        rc = nb_remember_bag(&record, s->reading.live->key, s->reading.coder, &s->bag, error);
    return rc != 0 ? rc : judge_bag(s, &record, true, error);
}

/* A row that was dropped meanwhile is passed over. Texts come later, of what is chosen. */
static int add_row(struct searching *s, const struct nb_row_count *row)
{
    const struct nb_model *counts = s->reading.live->counts;
    nb_model_read_lock(counts);
    bool is_there = row->row < nb_model_rows(counts);
    uint64_t id = is_there ? nb_model_row_id(counts, row->row) : 0;
    nb_model_unlock(counts);
    size_t before = s->bag.size;
    if (!is_there)
        return 0;
    if (nb_bag_add_id(&s->bag, id, "", 0) != 0)
        return NB_NO_MEMORY;
    if (s->bag.size > before)
        s->bag.features[before].count = row->count;
    return 0;
}

static int judge_stored(struct searching *s, const struct read_one *one, struct nb_error *error)
{
    const struct nb_history_record about = {.id = nb_buffer_string(&one->id), .time = one->time};
    nb_bag_reset(&s->bag);
    int rc = nb_bag_decode(nb_buffer_string(&one->stored), UINT32_MAX - 2, &s->rows, error);
    for (size_t i = 0; rc == 0 && i < s->rows.size; i++)
        rc = add_row(s, &s->rows.counts[i]);
    s->bag.positions = one->tokens;
    if (rc != 0)
        return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
    return judge_bag(s, &about, false, error);
}

/* ---- both ------------------------------------------------------------------------------------ */

typedef int reader(struct searching *s, const struct nb_view *view, struct nb_error *error);
typedef int judge(struct searching *s, const struct read_one *one, struct nb_error *error);

/* Judges without a snapshot: the writer may wait for its end. */
static int search_slice(struct searching *s, reader *read, judge *judge_one, struct nb_error *error)
{
    struct nb_error why = {0};
    s->count = 0;
    int rc = nb_store_snapshot(s->reading.engine->store, &s->reading.view, error);
    if (rc != 0)
        return rc;
    rc = read(s, &s->reading.view, &why);
    nb_store_snapshot_end(&s->reading.view);
    for (size_t i = 0; rc == 0 && i < s->count; i++)
        rc = judge_one(s, &s->slice[i], &why);
    return nb_reading_tell(rc, &why, error);
}

static int search(struct searching *s, reader *read, judge *judge_one, bool (*stop)(void *user),
                  void *user, struct nb_error *error)
{
    int rc = 0;
    s->judged = 0;
    s->has_ended = s->reading.live->number == 0;
    while (rc == 0 && !s->has_ended && s->judged < POOL_MOST)
        rc = stop != NULL && stop(user) ? nb_error_set(error, NB_STOPPING, "the daemon is stopping")
                                        : search_slice(s, read, judge_one, error);
    return rc;
}

static int search_all(struct searching *s, bool (*stop)(void *user), void *user,
                      struct nb_error *error)
{
    int rc = 0;
    s->at = UINT64_MAX;
    if (s->reading.limits.records > 0)
        rc = search(s, read_verdicts, judge_verdict, stop, user, error);
    if (rc != 0)
        return rc;
    s->at = 0;
    return search(s, read_stored, judge_stored, stop, user, error);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Reads the words of a stored document. A row may have another feature by now, or none. */
static int read_words(struct searching *s, struct candidate *c, struct nb_row_texts *texts,
                      struct nb_error *error)
{
    const struct nb_model *counts = s->reading.live->counts;
    int rc = 0;
    nb_bag_reset(&s->bag);
    for (size_t i = 0; rc == 0 && i < c->row_count; i++) {
        struct nb_string text;
        nb_model_read_lock(counts);
        bool is_there = c->rows[i] < nb_model_rows(counts);
        uint64_t id = is_there ? nb_model_row_id(counts, c->rows[i]) : 0;
        nb_model_unlock(counts);
        rc = is_there ? nb_row_texts_get(texts, c->rows[i], id, &text, NULL, error) : NB_NOT_FOUND;
        if (rc == 0 && nb_bag_add_id(&s->bag, id, text.bytes, text.length) != 0)
            rc = nb_error_no_memory(error);
        rc = rc == NB_NOT_FOUND ? 0 : rc;
    }
    free(c->document.words);
    c->document.words = words_of(&s->bag);
    if (rc == 0 && c->document.words == NULL)
        rc = nb_error_no_memory(error);
    return rc;
}

/* Takes the best out of the candidates, and lowers the worth of those that are like it. */
static struct candidate choose(struct searching *s)
{
    struct candidate *best = s->kept;
    for (size_t i = 1; i < s->kept_count; i++)
        best = s->kept[i].worth > best->worth ? &s->kept[i] : best;
    const struct candidate chosen = *best;
    *best = s->kept[--s->kept_count];
    for (size_t i = 0; i < s->kept_count; i++) {
        struct candidate *c = &s->kept[i];
        double likeness = nb_signature_similarity(&c->signature, &chosen.signature);
        double worth = (1 - c->document.margin) * (1 - likeness);
        c->worth = worth < c->worth ? worth : c->worth;
    }
    return chosen;
}

static int choose_all(struct searching *s, size_t count, struct nb_next *next,
                      struct nb_error *error)
{
    struct nb_row_texts texts;
    const struct nb_reading *r = &s->reading;
    next->documents = calloc(count + 1, sizeof *next->documents);
    if (next->documents == NULL)
        return nb_error_no_memory(error);
    int rc = nb_row_texts_begin(&texts, r->engine->store, r->live->number, r->live->key, error);
    while (rc == 0 && next->count < count) {
        struct candidate chosen = choose(s);
        if (!chosen.document.is_remembered)
            rc = read_words(s, &chosen, &texts, error);
        next->documents[next->count++] = chosen.document;
    }
    nb_row_texts_end(&texts);
    return rc;
}

int nb_engine_next(struct nb_engine *engine, struct nb_string model, size_t count,
                   bool (*stop)(void *user), void *user, struct nb_next *next,
                   struct nb_error *error)
{
    struct searching s = {.model = model};
    *next = (struct nb_next){.documents = NULL};
    int rc = nb_reading_begin(&s.reading, engine, model, error);
    if (rc != 0)
        return rc;
    nb_verdict_init(&s.verdict);
    rc = search_all(&s, stop, user, error);
    next->looked_at = s.looked_at;
    if (rc == 0)
        rc = choose_all(&s, count < s.kept_count ? count : s.kept_count, next, error);
    search_deinit(&s);
    return rc;
}
