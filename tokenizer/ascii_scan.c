/* SPDX-License-Identifier: Apache-2.0
 *
 * One loop finds and hashes the features of a window, another loop counts them. Whether a feature
 * is new is unpredictable: in a single loop, every third feature would be mispredicted, and hashing
 * the next features would begin only after that. Words without derived features have a faster path
 * (ascii_words below).
 */
#include "tokenizer/token.h"

#include <limits.h>

#include "tokenizer/ascii_window.h"

/* Words without derived features: one loop finds and hashes tokens, a second counts those that
 * the bag has, and a third enters new ones. The loops handle several windows at once, because the
 * end of each loop is mispredicted, and a window has only about ten tokens. */

/* The number of windows that are read before tokens are counted. At most, every byte is a token. */
enum { WINDOWS = 4, TOKENS_MOST = WINDOWS * NB_ASCII_WINDOW };
_Static_assert((int)TOKENS_MOST <= (int)NB_BAG_KNOWN_MOST, "they are counted at once");

struct words {
    struct nb_ascii_window windows[WINDOWS];
    size_t count;
    uint64_t id[TOKENS_MOST];
    const unsigned char *text[TOKENS_MOST]; /* lower-case texts, in the windows */
    unsigned char length[TOKENS_MOST];
};

static inline char *put(char *to, struct nb_string text)
{
    nb_bag_copy(to, text.bytes, text.length);
    return to + text.length;
}

static uint64_t hash_behind_prefix(const struct nb_text_run *run, struct nb_string text)
{
    char room[NB_PREFIX_BYTES + NB_TOKEN_CHARACTERS + NB_BAG_BLOCK];
    (void)put(put(room, nb_text_prefix(run)), text);
    return nb_feature_hash_padded(run->t->key, room, run->prefix_length + text.length);
}

/* Finds the tokens of a window. Returns the beginning of the rest. Callers pass a constant
 * `has_prefix`. */
__attribute__((always_inline)) static inline unsigned find_words(const struct nb_text_run *run,
                                                                 const struct nb_ascii_window *w,
                                                                 struct words *words,
                                                                 bool has_prefix)
{
    const struct nb_key *key = run->t->key;
    const uint64_t space = run->space, hashed = run->hashed;
    const unsigned safe = w->safe;
    size_t count = words->count;
    unsigned rest = w->size;
    for (uint64_t begins = w->begins; begins != 0; begins &= begins - 1) {
        unsigned begin = (unsigned)__builtin_ctzll(begins);
        unsigned end = nb_ascii_end(w, begin);
        unsigned length = nb_ascii_token_length(w, begin, end);
        const char *text = (const char *)w->lower + begin;
        if (end > safe || length > NB_TOKEN_CHARACTERS) {
            rest = begin < rest ? begin : rest;
            break;
        }
        uint64_t hash = has_prefix ? hash_behind_prefix(run, (struct nb_string){text, length})
                                   : nb_feature_hash_padded(key, text, length);
        words->id[count] = space | (hash & hashed);
        words->text[count] = (const unsigned char *)text;
        words->length[count++] = (unsigned char)length;
    }
    words->count = count;
    return rest;
}

/* Writes the text of a word to the room of the bag. Returns its end. */
static inline char *put_word(const struct nb_text_run *run, const struct words *words, size_t at,
                             char *room)
{
    char *end = run->prefix_length == 0 ? room : put(room, nb_text_prefix(run));
    return put(end, (struct nb_string){(const char *)words->text[at], words->length[at]});
}

static inline int count_word(struct nb_text_run *run, const struct words *words, size_t at,
                             struct nb_bag_cursor *c)
{
    uint64_t id = words->id[at];
    uint32_t *slot = nb_bag_slot(c, id);
    if (*slot != 0) {
        nb_bag_again(c, slot);
        return 0;
    }
    char *end = c->texts == NULL ? c->room : put_word(run, words, at, c->room);
    return nb_bag_enter(run->t->bag, c, slot, id, (size_t)(end - c->room));
}

/* Counts the words that were found, as far as the limit on tokens allows. */
static int count_words(struct nb_text_run *run, const struct words *words)
{
    struct nb_tokenizing *t = run->t;
    struct nb_bag *bag = t->bag;
    unsigned char unknown[TOKENS_MOST + 1];
    size_t most = words->count < t->tokens_left ? words->count : t->tokens_left;
    size_t size = nb_bag_count_known(bag, words->id, most, unknown);
    struct nb_bag_cursor c = nb_bag_cursor(bag);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < size; i++)
        rc = count_word(run, words, unknown[i], &c);
    nb_bag_leave(bag, &c);
    t->tokens_left -= most;
    bag->positions += run->step * most;
    if (rc != 0 || most == words->count)
        return rc;
    bag->truncated = true;
    return NB_BUDGET_SPENT;
}

/* Counts the whole tokens of the next windows from *at on. Stops at a long token, or at a token
 * that touches a byte above 0x7F; then sets *is_stuck. Moves *at behind the counted tokens. Returns
 * as nb_text_count. */
static int ascii_words(struct nb_text_run *run, const unsigned char **at, const unsigned char *end,
                       bool *is_stuck)
{
    struct words words;
    words.count = 0;
    *is_stuck = false;
    for (unsigned i = 0; i < WINDOWS && *at < end && !*is_stuck; i++) {
        struct nb_ascii_window *w = &words.windows[i];
        nb_ascii_read(w, *at, (size_t)(end - *at));
        unsigned size = run->prefix_length == 0 ? find_words(run, w, &words, false)
                                                : find_words(run, w, &words, true);
        *at += size;
        *is_stuck = size == 0;
    }
    return count_words(run, &words);
}

static const char CASE[] = "case:", PAIR[] = "pair:";
enum { CASE_BYTES = sizeof CASE - 1, PAIR_BYTES = sizeof PAIR - 1 };

/* At most, every byte is a token, and every second byte is a word, which has two more features. */
enum { FEATURES_MOST = 2 * NB_ASCII_WINDOW };

/* A token or word: a piece of a window. */
struct piece {
    unsigned char from, length;
};
enum { BEFORE_WINDOW = UCHAR_MAX }; /* `from` of the last word before the window */

/* The source of a feature's text; set only where texts are kept. */
struct source {
    struct piece token;
    struct piece before; /* a pair: the word before; of no length: no pair */
    bool is_case;        /* the token in its original case */
};

/* The features found in a window. */
struct found {
    const struct nb_ascii_window *window;
    size_t tokens, features;
    struct piece last; /* the last word so far; of no length: none */
    uint64_t last_hash;
    uint64_t id[FEATURES_MOST + 1];
    struct source source[FEATURES_MOST + 1];
};

/* ---- finding --------------------------------------------------------------------------------- */

static inline struct nb_string lower(const struct nb_ascii_window *w, struct piece piece)
{
    return (struct nb_string){(const char *)w->lower + piece.from, piece.length};
}

static inline struct nb_string raw(const struct nb_ascii_window *w, struct piece piece)
{
    return (struct nb_string){(const char *)w->raw + piece.from, piece.length};
}

/* Returns the hash of a text after a prefix. */
static uint64_t hash_behind(const struct nb_key *key, struct nb_string prefix,
                            struct nb_string text)
{
    char room[NB_PREFIX_BYTES + NB_TOKEN_CHARACTERS + NB_BAG_BLOCK];
    put(put(room, prefix), text);
    return nb_feature_hash_padded(key, room, prefix.length + text.length);
}

/* Notes a word with capitals in its original case. */
static void note_case(const struct nb_key *key, struct found *f, struct piece word,
                      bool keeps_texts)
{
    static const char prefix[NB_BAG_BLOCK] = "case:";
    uint64_t hash = hash_behind(key, (struct nb_string){prefix, CASE_BYTES}, raw(f->window, word));
    f->id[f->features] = nb_feature_id(NB_FIELD_CASE, hash);
    if (keeps_texts)
        f->source[f->features] = (struct source){.token = word, .is_case = true};
    f->features++;
}

/* Notes the pair of the last word and this one, if `is_pair`. Computes its id in any case, so that
 * no branch depends on the kind of token. */
static inline void note_pair(const struct nb_key *key, struct found *f, struct piece word,
                             uint64_t hash, bool is_pair, bool keeps_texts)
{
    f->id[f->features] =
        nb_feature_id(NB_FIELD_PAIR, nb_feature_hash_pair(key, f->last_hash, hash));
    if (keeps_texts)
        f->source[f->features] = (struct source){.token = word, .before = f->last};
    f->features += is_pair;
}

/* Finds the whole tokens of a window, up to the first long one. Returns the beginning of the rest.
 * Callers pass a constant `keeps_texts`. */
static inline __attribute__((always_inline)) unsigned find(const struct nb_text_run *run,
                                                           const struct nb_ascii_window *w,
                                                           struct found *f, bool keeps_texts)
{
    const struct nb_key *key = run->t->key;
    uint64_t capitals = nb_tokenizing_wants(run->t, NB_FIELD_CASE) ? w->capitals : 0;
    uint64_t pairs = nb_tokenizing_wants(run->t, NB_FIELD_PAIR) ? w->words : 0;
    f->window = w;
    f->tokens = f->features = 0;
    for (uint64_t begins = w->begins; begins != 0; begins &= begins - 1) {
        unsigned begin = (unsigned)__builtin_ctzll(begins);
        unsigned end = nb_ascii_end(w, begin);
        unsigned length = nb_ascii_token_length(w, begin, end);
        if (end > w->safe || length > NB_TOKEN_CHARACTERS)
            return begin < w->size ? begin : w->size;
        struct piece token = {(unsigned char)begin, (unsigned char)length};
        uint64_t hash = nb_feature_hash_padded(key, (const char *)w->lower + begin, length);
        uint64_t whole =
            run->prefix_length != 0 ? hash_behind(key, nb_text_prefix(run), lower(w, token)) : hash;
        f->id[f->features] = run->space | (whole & run->hashed);
        if (keeps_texts)
            f->source[f->features] = (struct source){.token = token};
        f->features++;
        f->tokens++;
        if ((capitals >> begin & ((UINT64_C(1) << length) - 1)) != 0)
            note_case(key, f, token, keeps_texts);
        bool is_word = (w->words >> begin & 1) != 0;
        note_pair(key, f, token, hash, (pairs >> begin & 1) != 0 && f->last.length != 0,
                  keeps_texts);
        f->last = is_word ? token : f->last;
        f->last_hash = is_word ? hash : f->last_hash;
    }
    return w->size;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Writes the text of a feature to the room of the bag. Returns its end. */
static inline char *put_feature(const struct nb_text_run *run, const struct found *f,
                                const struct source *source, char *room)
{
    if (source->before.length != 0) {
        memcpy(room, PAIR, PAIR_BYTES);
        room = put(room + PAIR_BYTES, source->before.from == BEFORE_WINDOW
                                          ? run->derived->word
                                          : lower(f->window, source->before));
        *room++ = ' ';
    } else if (source->is_case) {
        memcpy(room, CASE, CASE_BYTES);
        return put(room + CASE_BYTES, raw(f->window, source->token));
    } else if (run->prefix_length != 0) {
        room = put(room, nb_text_prefix(run));
    }
    return put(room, lower(f->window, source->token));
}

/* Counts one of the features of a window. */
static inline int count_feature(struct nb_text_run *run, const struct found *f, size_t at,
                                struct nb_bag_cursor *c)
{
    uint64_t id = f->id[at];
    uint32_t *slot = nb_bag_slot(c, id);
    if (*slot != 0) {
        nb_bag_again(c, slot);
        return 0;
    }
    char *end = c->texts == NULL ? c->room : put_feature(run, f, &f->source[at], c->room);
    return nb_bag_enter(run->t->bag, c, slot, id, (size_t)(end - c->room));
}

/* Counts the first `count` features of a window. */
static int count_features(struct nb_text_run *run, const struct found *f, size_t count)
{
    struct nb_bag *bag = run->t->bag;
    struct nb_bag_cursor c = nb_bag_cursor(bag);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = count_feature(run, f, i, &c);
    nb_bag_leave(bag, &c);
    return rc;
}

/* Returns the number of tokens among the first `count` features; the others are in fields without
 * tokens. */
static size_t count_tokens(const struct found *f, size_t count)
{
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned field = nb_feature_field(f->id[i]);
        tokens += field != NB_FIELD_CASE && field != NB_FIELD_PAIR;
    }
    return tokens;
}

/* Counts the features that were found, as far as the limit on tokens allows. */
static int count(struct nb_text_run *run, const struct found *f)
{
    struct nb_tokenizing *t = run->t;
    bool is_short = f->features > t->tokens_left;
    size_t most = is_short ? t->tokens_left : f->features;
    int rc = count_features(run, f, most);
    t->tokens_left -= most;
    t->bag->positions += run->step * (is_short ? count_tokens(f, most) : f->tokens);
    if (rc != 0 || !is_short)
        return rc;
    t->bag->truncated = true;
    return NB_BUDGET_SPENT;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Like ascii_words, for one window of a run with derived features. */
static int scan_window(struct nb_text_run *run, const unsigned char **at, const unsigned char *end,
                       bool *is_stuck)
{
    struct nb_ascii_window w;
    struct found f;
    struct nb_derived *derived = run->derived;
    nb_ascii_read(&w, *at, (size_t)(end - *at));
    f.last = (struct piece){BEFORE_WINDOW, (unsigned char)derived->word.length};
    f.last_hash = derived->hash;
    unsigned size = run->t->bag->texts == NULL ? find(run, &w, &f, false) : find(run, &w, &f, true);
    *at += size;
    *is_stuck = size == 0;
    int rc = count(run, &f);
    if (f.last.from != BEFORE_WINDOW)
        nb_derived_keep(derived, lower(&w, f.last), f.last_hash);
    return rc;
}

/* Returns the end of the token at `p`. */
static const unsigned char *skip_token(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *from = p++;
    if (!nb_ascii_is_word(*from)) {
        while (p < end && *p == *from)
            p++;
        return p;
    }
    while (p < end && (nb_ascii_is_word(*p) || (end - p > 1 && nb_ascii_joins(p[-1], p[0], p[1]))))
        p++;
    return p;
}

/* Counts the token at *at, at which the window scan has stopped, if it is a long token of ASCII.
 * Moves *at behind it. Does nothing if the token contains or touches a byte above 0x7F. */
static int count_long(struct nb_text_run *run, const unsigned char **at, const unsigned char *end)
{
    const unsigned char *from = *at;
    if (*from >= 0x80)
        return 0;
    const unsigned char *to = skip_token(from, end);
    if (to < end && (*to >= 0x80 || (end - to > 1 && to[1] >= 0x80)))
        return 0;
    *at = to;
    if (!nb_ascii_is_word(*from)) {
        unsigned length = nb_mark_run((size_t)(to - from));
        memset(nb_text_token(run), *from, length);
        return nb_text_count(run, length);
    }
    return nb_text_count_long(run, (unsigned char)nb_ascii_lower((char)*from), (size_t)(to - from));
}

int nb_ascii_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end)
{
    int rc = 0;
    while (rc == 0 && *at < end) {
        bool is_stuck;
        nb_text_at(run, *at);
        rc = run->derived == NULL ? ascii_words(run, at, end, &is_stuck)
                                  : scan_window(run, at, end, &is_stuck);
        if (rc == 0 && is_stuck) {
            const unsigned char *from = *at;
            rc = count_long(run, at, end);
            if (*at == from)
                break;
        }
    }
    return rc;
}
