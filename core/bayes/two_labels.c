/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches on which features are words, or which labels have a word, are unpredictable, so there
 * are none. First the words are listed; then all cells are read as pairs; cells that are no pairs
 * are read again; then all are summed. A label without the word adds 0, which changes no bit of its
 * sum.
 */
#include "core/bayes/two_labels.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/counts/counts.h"

/* The words of a step. */
struct words {
    uint32_t size;
    uint8_t place[NB_MODEL_STEP + 3];  /* in the step; up to three are written past the end */
    uint32_t count[NB_MODEL_STEP + 1]; /* in the document; up to one is written past the end */
    uint64_t
        n[NB_MODEL_STEP + 1]; /* occurrences: label 0 in the lower half, label 1 in the upper */
    uint64_t bits;            /* OR of all `n`: each half is at least each count there */
    uint64_t forms;           /* OR of all cells */
};
_Static_assert(NB_MODEL_STEP <= UINT8_MAX + 1, "places have a byte");

/* The results of listing the words of a step. */
struct listing {
    uint64_t total; /* positions of all words, known or not */
    bool has_values;
};

/* Lists the words that have rows, from the feature at `start` on. The next word overwrites the
 * place of a feature that is none. */
static void list_rest(struct words *words, struct listing *listing,
                      const struct nb_feature *features, size_t start, size_t step,
                      const uint32_t *rows)
{
    uint32_t size = words->size;
    for (size_t i = start; i < step; i++) {
        enum nb_field field = nb_feature_field(features[i].id);
        bool is_token = nb_field_is_token(field);
        listing->has_values |= field == NB_FIELD_VALUE;
        listing->total += features[i].count & -(uint32_t)is_token;
        words->place[size] = (uint8_t)i;
        size += is_token & (rows[i] != NB_NO_ROW);
    }
    words->size = size;
}

#ifdef __SSE2__
_Static_assert(NB_FIELD_CASE == 8 && NB_FIELD_VALUE >= 16 && NB_FIELDS <= 16 && NB_FIELD_BITS == 5,
               "tokens have no upper bit of two, values have the first");

typedef uint32_t four_places __attribute__((aligned(1), may_alias));

/* The places of the words among four features, a byte each. The index has a bit for each word. */
static const four_places places_of[16] = {
    0,   0x0,   0x1,   0x100,   0x2,   0x200,   0x201,   0x20100,
    0x3, 0x300, 0x301, 0x30100, 0x302, 0x30200, 0x30201, 0x3020100,
};

/* The number of words, by the same index: without a CPU instruction, counting bits is a call. */
static const uint8_t counts_of[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

static inline __m128i features_at(const struct nb_feature *feature)
{
    return _mm_loadu_si128((const __m128i *)feature);
}

/* Returns for two features the upper half of the id and the count. */
static inline __m128 parts_of(const struct nb_feature *features)
{
    _Static_assert(sizeof *features == 16 && offsetof(struct nb_feature, count) == 8, "one load");
    return _mm_shuffle_ps(_mm_castsi128_ps(features_at(features)),
                          _mm_castsi128_ps(features_at(features + 1)), _MM_SHUFFLE(2, 1, 2, 1));
}

/* Begins the list, with four features at once. Returns how many features it has seen. */
static size_t list_fours(struct words *words, struct listing *listing,
                         const struct nb_feature *features, size_t step, const uint32_t *rows)
{
    const __m128i zero = _mm_setzero_si128(), none = _mm_set1_epi32(-1);
    __m128i total = zero, all = zero;
    uint32_t size = 0;
    size_t i = 0;
    for (; i + 4 <= step; i += 4) {
        __m128 low = parts_of(features + i), high = parts_of(features + i + 2);
        __m128i ids = _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
        __m128i counts = _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
        __m128i is_token = _mm_cmpeq_epi32(_mm_srli_epi32(ids, 30), zero);
        __m128i is_new = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(rows + i)), none);
        counts = _mm_and_si128(counts, is_token);
        total = _mm_add_epi64(total, _mm_add_epi64(_mm_unpacklo_epi32(counts, zero),
                                                   _mm_unpackhi_epi32(counts, zero)));
        all = _mm_or_si128(all, ids);
        int listed = _mm_movemask_ps(_mm_castsi128_ps(_mm_andnot_si128(is_new, is_token)));
        *(four_places *)(words->place + size) = places_of[listed] + (uint32_t)i * 0x1010101u;
        size += counts_of[listed];
    }
    uint64_t totals[2];
    memcpy(totals, &total, sizeof totals);
    listing->total = totals[0] + totals[1];
    listing->has_values = _mm_movemask_ps(_mm_castsi128_ps(all)) != 0;
    words->size = size;
    return i;
}
#else
static size_t list_fours(struct words *words, struct listing *listing,
                         const struct nb_feature *features, size_t step, const uint32_t *rows)
{
    (void)features, (void)step, (void)rows;
    *listing = (struct listing){.total = 0};
    words->size = 0;
    return 0;
}
#endif

static void list_words(struct words *words, struct listing *listing,
                       const struct nb_feature *features, size_t step, const uint32_t *rows)
{
    size_t next = list_fours(words, listing, features, step, rows);
    list_rest(words, listing, features, next, step, rows);
}

/* The cells of two rows. */
typedef uint64_t two_rows __attribute__((vector_size(16), aligned(8), may_alias));

static inline two_rows occurrences_of_pairs(two_rows cells, unsigned label)
{
    two_rows d = cells >> (label * NB_PAIR_D) & NB_PAIR_D_MOST;
    return d + (cells >> (NB_PAIR_MORES + label * NB_PAIR_MORE) & NB_PAIR_MORE_MOST);
}

/* Reads all words as pairs. */
static void read_pairs(struct words *words, const struct nb_feature *features,
                       const uint64_t *cells)
{
    two_rows bits = {0, 0}, forms = {0, 0};
    if (words->size > 0)
        words->place[words->size] = words->place[0]; /* fills up an odd number of words */
    for (uint32_t i = 0; i < words->size; i += 2) {
        /* The analyzer does not see the stores of four places at once.
         * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
        uint32_t one = words->place[i], other = words->place[i + 1];
        two_rows both = {cells[one], cells[other]};
        two_rows n = occurrences_of_pairs(both, 0) | occurrences_of_pairs(both, 1) << 32;
        *(two_rows *)(words->n + i) = n;
        words->count[i] = features[one].count;
        words->count[i + 1] = features[other].count;
        bits |= n;
        forms |= both;
    }
    words->bits = bits[0] | bits[1];
    words->forms = forms[0] | forms[1];
}

/* Returns the occurrences in both labels, as in words.n, of a row that is no pair. */
static uint64_t read_other(struct nb_row row, const struct nb_model *model)
{
    uint32_t n[2] = {0, 0};
    if (nb_row_is_spilled(row)) {
        const struct nb_spill *run = nb_row_run(&model->pool, row);
        assert(run->used <= 2);
        n[run[0].label & 1] = run[0].n;
        n[~run[0].label & 1] = run[1].n; /* 0 without a second cell */
    } else {
        struct nb_cell cells[2];
        uint32_t size = nb_row_unpack(row, cells);
        for (uint32_t i = 0; i < size; i++)
            n[cells[i].label & 1] = cells[i].occurrences;
    }
    return (uint64_t)n[1] << 32 | n[0];
}

/* Reads the words whose rows are no pairs. */
static void read_others(struct words *words, const struct nb_model *model, const uint64_t *cells)
{
    for (uint32_t i = 0; i < words->size; i++) {
        struct nb_row row = {.cells = cells[words->place[i]]};
        if (nb_row_is_pair(row))
            continue;
        words->n[i] = read_other(row, model);
        words->bits |= words->n[i];
    }
}

/* Numbers of both labels. */
typedef double pair __attribute__((vector_size(16)));

/* Adds all words. Callers pass a constant `is_in_table`: the logarithms of all counts are in the
 * table. */
static inline __attribute__((always_inline)) void add_words(struct nb_two_labels *two,
                                                            const struct nb_log_table *table,
                                                            const struct words *words,
                                                            bool is_in_table)
{
    const struct nb_log_table logs = *table;
    const pair none = {logs.logs[0], logs.logs[0]};
    pair sums = {two->sums[0], two->sums[1]};
    uint64_t known = 0;
    for (uint32_t i = 0; i < words->size; i++) {
        uint32_t n0 = (uint32_t)words->n[i], n1 = (uint32_t)(words->n[i] >> 32);
        pair both = {is_in_table ? logs.logs[n0] : nb_log_table_at(&logs, n0),
                     is_in_table ? logs.logs[n1] : nb_log_table_at(&logs, n1)};
        sums += (double)words->count[i] * (both - none);
        known += n0 + (uint64_t)n1 == 0 ? 0 : words->count[i];
    }
    two->sums[0] = sums[0];
    two->sums[1] = sums[1];
    two->known += known;
}

bool nb_two_labels_add(struct nb_two_labels *two, const struct nb_log_table *logs,
                       const struct nb_model *model, const struct nb_feature *features, size_t step,
                       const struct nb_found *found)
{
    struct words words;
    struct listing listing;
    assert(step <= NB_MODEL_STEP && nb_model_label_count(model) == 2);
    list_words(&words, &listing, features, step, found->rows);
    if (listing.has_values)
        return false;
    read_pairs(&words, features, found->cells);
    if (words.forms >= NB_FORM_SINGLE)
        read_others(&words, model, found->cells);
    if (((words.bits | words.bits >> 32) & UINT32_MAX) < logs->size)
        add_words(two, logs, &words, true);
    else
        add_words(two, logs, &words, false);
    two->total += listing.total;
    return true;
}
