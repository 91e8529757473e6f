/* SPDX-License-Identifier: Apache-2.0
 *
 * As in tokenizer/text/ascii_scan.c, one loop finds and hashes tokens, a second counts those that
 * the bag has, and a third enters new ones. The loops handle several windows at once, because the
 * end of each loop is mispredicted, and a window has only ten tokens.
 */
#include "tokenizer/text/ascii_words.h"

#include "tokenizer/text/ascii_window.h"

/* Windows that are read before tokens are counted: at most every byte is a token. */
enum { WINDOWS = 4, TOKENS_MOST = WINDOWS * NB_ASCII_WINDOW };
_Static_assert((int)TOKENS_MOST <= (int)NB_BAG_KNOWN_MOST, "they are counted at once");

struct words {
    struct nb_ascii_window windows[WINDOWS];
    size_t count;
    uint64_t id[TOKENS_MOST];
    const unsigned char *text[TOKENS_MOST]; /* in lower case, in a window */
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
__attribute__((always_inline)) static inline unsigned find(const struct nb_text_run *run,
                                                           const struct nb_ascii_window *w,
                                                           struct words *words, bool has_prefix)
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
static int count(struct nb_text_run *run, const struct words *words)
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

int nb_ascii_words(struct nb_text_run *run, const unsigned char **at, const unsigned char *end,
                   bool *is_stuck)
{
    struct words words;
    words.count = 0;
    *is_stuck = false;
    for (unsigned i = 0; i < WINDOWS && *at < end && !*is_stuck; i++) {
        struct nb_ascii_window *w = &words.windows[i];
        nb_ascii_read(w, *at, (size_t)(end - *at));
        unsigned size =
            run->prefix_length == 0 ? find(run, w, &words, false) : find(run, w, &words, true);
        *at += size;
        *is_stuck = size == 0;
    }
    return count(run, &words);
}
