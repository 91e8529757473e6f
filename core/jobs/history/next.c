/* SPDX-License-Identifier: Apache-2.0
 *
 * Suggests which documents to label next: those without a label that would teach the model most,
 * from the history and the store. Any thread; a call takes long and belongs to one thread.
 *
 * A document teaches more the less sure the model is of its label: uncertainty sampling (Lewis and
 * Gale 1994, for two labels: the probability nearest to 1/2). With more labels the measure is the
 * margin of the winner over the runner-up (Scheffer, Decomain and Wrobel 2001), which gives the
 * same order for two labels; if documents have several labels, the distance of the label that is
 * nearest to its threshold. The least sure documents are often near-duplicates, and one of them
 * teaches as much as all. So documents are chosen one by one, each time the one with the greatest
 *
 *     (1 - margin) * (1 - greatest similarity to one that is chosen)
 *
 * as maximal marginal relevance does for search results (Carbonell and Goldstein 1998); similarity
 * is the Jaccard similarity of the features, as core/ledger/document_lists.h estimates
 * it.
 */
#include <stdbool.h>

#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/label_set.h"
#include "core/jobs/history/history_listing.h"
#include "core/ledger/document_lists.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_features.h"

enum {
    LOOKED_MOST = 20000, /* verdicts of the history that are examined */
    KEPT_MOST = 500,     /* least sure documents, the candidates */
    WORDS_BYTES = 240,
    ENDED = 1,
};

/* The candidates: documents that are read from the store and classified by the present model. */
enum {
    SLICE = 50, /* documents that are read in one snapshot, and classified after it */
    ROWS = 40,
};

struct candidate {
    struct nb_next_document document; /* owned until it is chosen */
    struct nb_signature signature;
    uint32_t rows[ROWS]; /* rows of a stored document: its newest words in the model */
    size_t row_count;
    double worth; /* 1 - margin, times 1 - the greatest similarity to a chosen one */
};

/* A document that was read but not classified yet. */
struct read_document {
    struct nb_buffer stored; /* owned: the record of a verdict, or the bag of an entry */
    struct nb_buffer id;     /* owned: of an entry */
    int64_t time;
    uint64_t tokens;
};

/* A verdict of the history. */
struct unsure {
    double probability; /* probability of the winner when the verdict was given */
    uint64_t number;
};

struct pool {
    struct nb_reading reading;
    struct nb_string model; /* borrowed */
    struct candidate *kept; /* owned: the least sure candidates, in any order */
    size_t kept_count, kept_room;
    uint64_t looked_at; /* documents that were judged */
    struct nb_bag bag;  /* bag of the document that was read last */
    /* Members for the search alone. */
    size_t most; /* most documents of each kind to judge */
    struct read_document slice[SLICE];
    size_t count;
    struct unsure *unsure; /* owned */
    size_t unsure_count;
    size_t judged; /* judged documents of the present kind */
    uint64_t at;   /* number of the verdict, or the entry, or index in `unsure`, that comes next */
    size_t passed; /* verdicts of the history that were examined */
    uint64_t newest; /* number of the newest verdict */
    bool has_ended;  /* no further document of the present kind */
    struct nb_rows rows;
    struct nb_verdict verdict;
};

static void next_document_deinit(struct nb_next_document *d)
{
    nb_buffer_deinit(&d->id);
    nb_buffer_deinit(&d->labels);
    free(d->verdict);
    free(d->message_id);
    free(d->subject);
    free(d->sender);
    free(d->words);
}

/* Returns 0, or a code; then there is nothing to end. */
static int next_pool_begin(struct pool *pool, struct nb_engine *engine, struct nb_string model,
                           struct nb_error *error)
{
    *pool = (struct pool){.model = model};
    int rc = nb_reading_begin(&pool->reading, engine, model, error);
    if (rc == 0)
        nb_verdict_init(&pool->verdict);
    return rc;
}

static void next_pool_end(struct pool *s)
{
    for (size_t i = 0; i < SLICE; i++) {
        nb_buffer_deinit(&s->slice[i].stored);
        nb_buffer_deinit(&s->slice[i].id);
    }
    for (size_t i = 0; i < s->kept_count; i++)
        next_document_deinit(&s->kept[i].document);
    free(s->kept);
    free(s->unsure);
    nb_rows_deinit(&s->rows);
    nb_bag_deinit(&s->bag);
    nb_verdict_deinit(&s->verdict);
    nb_reading_end(&s->reading);
}

/* ---- verdicts that were least sure ----------------------------------------------------------- */

/* The least sure one first; of equals the newer one. */
static int by_probability(const void *a, const void *b)
{
    const struct unsure *left = a, *right = b;
    if (left->probability != right->probability)
        return left->probability < right->probability ? -1 : 1;
    return left->number > right->number ? -1 : 1;
}

/* Skips documents in the ledger: they have a label, or belong to the stored documents. */
static int note_verdict(struct pool *s, struct nb_heap *heap, struct nb_string stored,
                        struct nb_error *error)
{
    struct nb_history_record record;
    struct nb_string label;
    bool is_stored;
    int rc = nb_history_read(&record, stored, error);
    if (rc != 0)
        return rc;
    s->newest = s->at > s->newest ? s->at : s->newest;
    s->has_ended =
        record.time < s->reading.limits.since || s->newest - s->at >= s->reading.limits.records;
    const struct unsure one = {record.probability, s->at};
    bool is_in = heap->count < heap->most || by_probability(&one, nb_heap_last(heap)) < 0;
    if (s->has_ended || !is_in)
        return 0;
    rc = nb_reading_label(&s->reading, record.id, &is_stored, &label, error);
    if (rc == 0 && !is_stored)
        nb_heap_add(heap, &one);
    return rc;
}

/* Continues to note verdicts until the store needs the snapshot to end. */
static int note_verdicts(struct pool *s, struct nb_heap *heap, struct nb_error *error)
{
    const struct nb_view *view = &s->reading.view;
    struct nb_string stored;
    int rc = 0;
    do {
        rc = s->at <= 1 || s->passed++ == LOOKED_MOST
                 ? NB_NOT_FOUND
                 : nb_history_before(view, s->reading.live->number, s->at, &s->at, &stored, error);
        s->has_ended = rc == NB_NOT_FOUND;
        if (rc == 0)
            rc = note_verdict(s, heap, stored, error);
    } while (rc == 0 && !s->has_ended && !nb_store_wanted(view));
    return s->has_ended && rc == NB_NOT_FOUND ? 0 : rc;
}

/* Finds the verdicts of the history that were least sure when they were given. */
static int find_unsure(struct pool *s, struct nb_error *error)
{
    struct nb_error why = {0};
    s->unsure = malloc(s->most * sizeof *s->unsure);
    if (s->unsure == NULL)
        return nb_error_no_memory(error);
    struct nb_heap heap = {.items = s->unsure,
                           .most = s->most,
                           .item_size = sizeof *s->unsure,
                           .compare = by_probability};
    int rc = 0;
    s->at = UINT64_MAX;
    s->has_ended = s->reading.live->number == 0;
    while (rc == 0 && !s->has_ended) {
        rc = nb_store_snapshot(s->reading.engine->store, &s->reading.view, error);
        if (rc != 0)
            return rc;
        rc = note_verdicts(s, &heap, &why);
        nb_store_snapshot_end(&s->reading.view);
    }
    nb_heap_sort(&heap);
    s->unsure_count = heap.count;
    return nb_reading_tell(&s->reading, rc, &why, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int add(struct pool *s, struct nb_string stored, struct nb_string id, struct nb_error *error)
{
    struct read_document *one = &s->slice[s->count++];
    one->stored.length = one->id.length = 0;
    if (nb_buffer_append(&one->stored, stored.bytes, stored.length) != 0 ||
        nb_buffer_append(&one->id, id.bytes, id.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* Skips verdicts that were removed meanwhile. */
static int read_verdicts(struct pool *s, struct nb_error *error)
{
    struct nb_string stored;
    uint64_t number;
    int rc = 0;
    while (rc == 0 && s->at < s->unsure_count && s->count < SLICE) {
        uint64_t wanted = s->unsure[s->at++].number;
        rc = nb_history_before(&s->reading.view, s->reading.live->number, wanted + 1, &number,
                               &stored, error);
        if (rc == 0 && number == wanted)
            rc = add(s, stored, (struct nb_string){"", 0}, error);
        rc = rc == NB_NOT_FOUND ? 0 : rc;
    }
    s->has_ended = s->at == s->unsure_count;
    return rc;
}

static int take_entry(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct pool *s = user;
    if (s->count == SLICE || s->judged + s->count == s->most || nb_store_wanted(&s->reading.view))
        return ENDED;
    s->at = entry->number + 1;
    int rc = add(s, entry->change.bag, entry->change.id, error);
    s->slice[s->count - 1].time = entry->change.time;
    s->slice[s->count - 1].tokens = entry->change.tokens;
    return rc;
}

static int read_stored(struct pool *s, struct nb_error *error)
{
    struct nb_error why = {0};
    int rc = nb_ledger_walk_only(&s->reading.view, s->reading.live->number, s->at,
                                 NB_LEDGER_UNLABELLED, take_entry, s, &why);
    s->has_ended = rc == 0;
    return rc == ENDED ? 0 : nb_live_note(s->reading.live, rc, &why, error);
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

/* How much more likely the winner is than the runner-up; of several labels, as in nb_verdict. */
static double margin_of(const struct nb_verdict *verdict)
{
    if (verdict->is_given != NULL)
        return verdict->margin;
    double second = verdict->size == 1 ? 1 - verdict->probabilities[0] : 0;
    for (size_t i = 0; i < verdict->size; i++)
        if (i != verdict->best && verdict->probabilities[i] > second)
            second = verdict->probabilities[i];
    return verdict->probabilities[verdict->best] - second;
}

/* Returns the first words of a bag, with blanks between; for a verdict these are the first of the
 * text. The caller frees them; NULL: out of memory. */
static char *next_words(const struct nb_bag *bag)
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

/* Returns the place for a new candidate, and frees the old one there; NULL: all others are less
 * sure. */
static struct candidate *make_place(struct pool *s, double worth, int *rc)
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
    next_document_deinit(&least->document);
    return least;
}

/* Copies the labels that the verdict gives, of several, as a set. */
static int copy_given(const struct nb_verdict *verdict, struct nb_buffer *set)
{
    size_t count = 0;
    struct nb_string *given = calloc(verdict->size + 1, sizeof *given);
    if (given == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < verdict->size; i++)
        if (verdict->is_given[i] && count < NB_LABEL_SET_MOST)
            given[count++] = nb_string_of(verdict->labels[i]);
    int rc = nb_label_set_write(given, count, set, NULL);
    free(given);
    return rc == NB_UNUSABLE ? 0 : rc; /* more than a document may have: none are told */
}

static int keep(struct pool *s, const struct nb_history_record *about, bool is_remembered)
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
    size_t asked = v->is_given == NULL ? v->best : v->nearest;
    *d = (struct nb_next_document){.verdict = nb_string_copy(nb_string_of(v->labels[asked])),
                                   .message_id = nb_string_copy(about->message_id),
                                   .subject = nb_string_copy(about->subject),
                                   .sender = nb_string_copy(about->sender),
                                   .words = next_words(is_remembered ? &s->bag : &none),
                                   .probability = v->probabilities[asked],
                                   .margin = margin,
                                   .time = about->time,
                                   .is_remembered = is_remembered};
    sign(&s->bag, &c->signature);
    for (size_t i = s->rows.size; !is_remembered && i > 0 && c->row_count < ROWS; i--)
        c->rows[c->row_count++] = s->rows.counts[i - 1].row;
    bool is_whole = nb_buffer_append(&d->id, about->id.bytes, about->id.length) == 0 &&
                    (v->is_given == NULL || copy_given(v, &d->labels) == 0) && d->verdict != NULL &&
                    d->message_id != NULL && d->subject != NULL && d->sender != NULL &&
                    d->words != NULL;
    return is_whole ? 0 : NB_NO_MEMORY;
}

static int judge_bag(struct pool *s, const struct nb_history_record *about, bool is_remembered,
                     struct nb_error *error)
{
    s->verdict.takes_several = true;
    int rc = nb_engine_classify_bag(s->reading.engine, s->model, &s->bag, 0, &s->verdict, error);
    if (rc == 0 && keep(s, about, is_remembered) != 0)
        rc = nb_error_no_memory(error);
    nb_verdict_reset(&s->verdict);
    s->judged++;
    s->looked_at++;
    return rc;
}

static int judge_verdict(struct pool *s, const struct read_document *one, struct nb_error *error)
{
    struct nb_history_record record;
    int rc = nb_history_read(&record, nb_buffer_string(&one->stored), error);
    if (rc == 0)
        rc = nb_remember_bag(&record, s->reading.live->key, s->reading.coder, &s->bag, error);
    return rc != 0 ? rc : judge_bag(s, &record, true, error);
}

/* Skips a row that was dropped meanwhile. Texts are read later, only for chosen documents. */
static int add_row(struct pool *s, const struct nb_row_count *row)
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

static int judge_stored(struct pool *s, const struct read_document *one, struct nb_error *error)
{
    const struct nb_history_record about = {.id = nb_buffer_string(&one->id), .time = one->time};
    struct nb_error why = {0};
    nb_bag_reset(&s->bag);
    int rc = nb_bag_decode(nb_buffer_string(&one->stored), UINT32_MAX - 2, &s->rows, &why);
    for (size_t i = 0; rc == 0 && i < s->rows.size; i++)
        rc = add_row(s, &s->rows.counts[i]);
    s->bag.positions = one->tokens;
    if (rc != 0)
        return rc == NB_NO_MEMORY ? nb_error_no_memory(error)
                                  : nb_live_note(s->reading.live, rc, &why, error);
    return judge_bag(s, &about, false, error);
}

/* ---- the whole search ------------------------------------------------------------------------ */

typedef int reader(struct pool *s, struct nb_error *error);
typedef int judge(struct pool *s, const struct read_document *one, struct nb_error *error);

/* Classifies without a snapshot, because the writer may wait for its end. */
static int search_slice(struct pool *s, reader *read, judge *judge_one, struct nb_error *error)
{
    struct nb_error why = {0};
    s->count = 0;
    int rc = nb_store_snapshot(s->reading.engine->store, &s->reading.view, error);
    if (rc != 0)
        return rc;
    rc = read(s, &why);
    nb_store_snapshot_end(&s->reading.view);
    for (size_t i = 0; rc == 0 && i < s->count; i++)
        rc = judge_one(s, &s->slice[i], &why);
    return nb_reading_tell(&s->reading, rc, &why, error);
}

/* Classifies the documents of one kind, from the first on. */
static int search(struct pool *s, reader *read, judge *judge_one, bool (*stop)(void *user),
                  void *user, struct nb_error *error)
{
    int rc = 0;
    s->judged = 0;
    s->at = 0;
    s->has_ended = s->reading.live->number == 0;
    while (rc == 0 && !s->has_ended && s->judged < s->most) {
        rc = nb_step_check(stop, user, error);
        if (rc == 0)
            rc = search_slice(s, read, judge_one, error);
    }
    return rc;
}

/* Classifies two groups of documents without a label anew: of the 20,000 newest verdicts, the
 * `most` (at least 1) that were least sure when they were given; and the first `most` stored
 * documents. Returns 0, NB_STOPPING, or as nb_engine_classify. */
static int next_pool_fill(struct pool *pool, size_t most, bool (*stop)(void *user), void *user,
                          struct nb_error *error)
{
    int rc = 0;
    pool->most = most;
    if (pool->reading.limits.records > 0)
        rc = find_unsure(pool, error);
    if (rc == 0 && pool->unsure_count > 0)
        rc = search(pool, read_verdicts, judge_verdict, stop, user, error);
    return rc != 0 ? rc : search(pool, read_stored, judge_stored, stop, user, error);
}

void nb_next_deinit(struct nb_next *next)
{
    for (size_t i = 0; i < next->count; i++)
        next_document_deinit(&next->documents[i]);
    free(next->documents);
    *next = (struct nb_next){.documents = NULL};
}

/* Reads the words of a stored document. A row may have another feature by now, or none. */
static int read_words(struct pool *s, struct candidate *c, struct nb_row_texts *texts,
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
    c->document.words = next_words(&s->bag);
    if (rc == 0 && c->document.words == NULL)
        rc = nb_error_no_memory(error);
    return rc;
}

/* Removes the best candidate and returns it, and lowers the worth of similar ones. */
static struct candidate choose(struct pool *s)
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

static int choose_all(struct pool *s, size_t count, struct nb_next *next, struct nb_error *error)
{
    struct nb_row_texts texts;
    const struct nb_reading *r = &s->reading;
    next->documents = calloc(count + 1, sizeof *next->documents);
    if (next->documents == NULL)
        return nb_error_no_memory(error);
    struct nb_error why = {0};
    int rc = nb_row_texts_begin(&texts, r->engine->store, r->live->number, r->live->key, &why);
    while (rc == 0 && next->count < count) {
        struct candidate chosen = choose(s);
        if (!chosen.document.is_remembered)
            rc = read_words(s, &chosen, &texts, &why);
        next->documents[next->count++] = chosen.document;
    }
    nb_row_texts_end(&texts);
    return nb_live_note(r->live, rc, &why, error);
}

int nb_engine_next(struct nb_engine *engine, struct nb_string model, size_t count, size_t most,
                   bool (*stop)(void *user), void *user, struct nb_next *next,
                   struct nb_error *error)
{
    struct pool pool;
    *next = (struct nb_next){.documents = NULL};
    int rc = next_pool_begin(&pool, engine, model, error);
    if (rc != 0)
        return rc;
    rc = next_pool_fill(&pool, most, stop, user, error);
    next->looked_at = pool.looked_at;
    if (rc == 0)
        rc = choose_all(&pool, count < pool.kept_count ? count : pool.kept_count, next, error);
    next_pool_end(&pool);
    return rc;
}
