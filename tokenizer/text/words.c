/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/words.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "tokenizer/text/derived.h"
#include "tokenizer/text/fold.h"
#include "tokenizer/text/readable.h"
#include "tokenizer/text/scripts.h"

enum state {
    STATE_NONE,
    STATE_WORD,
    STATE_SYMBOLS, /* a run of one mark */
    STATE_PAIRS,   /* a run of a script without spaces */
    STATE_FLAG,    /* the first half of a flag */
    STATE_EMOJI    /* an emoji, of one character or more */
};

/* In scripts without spaces a cluster is a character with its combining marks. Further marks begin
 * another cluster. */
enum { CLUSTER_CHARACTERS = 8, CLUSTER_BYTES = 4 * CLUSTER_CHARACTERS };

struct cluster {
    unsigned char bytes[CLUSTER_BYTES];
    unsigned length;
    unsigned characters;
};

/* Characters of one emoji (a grapheme cluster of UAX #29); further ones begin another. The longest
 * in use have ten: a kiss of two people, with the colour of the skin of each. */
enum { EMOJI_CHARACTERS = 16, EMOJI_BYTES = 4 * EMOJI_CHARACTERS, ZERO_WIDTH_JOINER = 0x200D };

/* A run of one emoji. From the third on it is a shape, which is counted once. */
struct emoji_run {
    unsigned char bytes[EMOJI_BYTES];
    size_t length; /* 0: the last token was no emoji */
    size_t times;
};

struct scanner {
    struct nb_text_run *run;
    enum state state;
    unsigned char *token; /* the token so far, in the bag's room */
    size_t bytes;
    size_t characters; /* of the token, those included that are too many to be kept */
    uint32_t first;    /* the first character of the token */
    unsigned last;     /* class of the last character of the word, combining marks left out */
    uint32_t mid; /* packed: a mark that belongs to the word if the next character does; or 0 */
    const unsigned char *at;     /* position in the text of the character at hand */
    const unsigned char *from;   /* position of the beginning of the word */
    const unsigned char *mid_at; /* position of `mid` */
    struct cluster before, current;
    struct emoji_run emoji;
};

static void append(struct scanner *s, uint32_t character)
{
    if (s->characters++ < NB_TOKEN_CHARACTERS)
        s->bytes += nb_utf8_encode(character, s->token + s->bytes);
}

static void begin_token(struct scanner *s, enum state state, uint32_t character)
{
    s->state = state;
    s->token = nb_text_token(s->run);
    s->bytes = 0;
    s->characters = 0;
    s->first = character;
    append(s, character);
}

/* Whether the text is in the charset in which it is read. Few texts have a word that asks. */
static bool is_readable(struct nb_text_run *run)
{
    if (!run->is_judged)
        run->is_readable = nb_text_is_readable(run->text);
    run->is_judged = true;
    return run->is_readable;
}

/* Counts a word. A word of mixed scripts is counted a second time as it reads, with a feature that
 * says so, if the settings want the structure of texts. Bytes that are read in the wrong charset
 * mix scripts, too, and disguise nothing. */
static int count_word(struct scanner *s, const unsigned char *end)
{
    static const char feature[] = "word:mixed-scripts";
    struct nb_tokenizing *t = s->run->t;
    unsigned char plain[4 * NB_TOKEN_CHARACTERS];
    size_t length;
    bool is_mixed = nb_tokenizing_wants(t, NB_FIELD_STRUCTURE) &&
                    nb_scripts_mixed(s->token, s->bytes, plain, &length) && is_readable(s->run);
    int rc = nb_text_count_word(s->run, s->bytes, s->from, end);
    if (rc != 0 || !is_mixed)
        return rc;
    memcpy(nb_text_token(s->run), plain, length);
    rc = nb_text_count(s->run, length);
    return rc != 0 ? rc : nb_tokenize_feature(t, NB_FIELD_STRUCTURE, feature, sizeof feature - 1);
}

/* Counts an emoji or flag, and that three of it stand in a row. */
static int count_emoji(struct scanner *s)
{
    static const char shape[] = "shape:run=";
    char feature[sizeof shape + EMOJI_BYTES];
    struct emoji_run *run = &s->emoji;
    bool is_again = run->length == s->bytes && memcmp(run->bytes, s->token, s->bytes) == 0;
    assert(s->bytes <= EMOJI_BYTES);
    memcpy(run->bytes, s->token, s->bytes);
    run->length = s->bytes;
    run->times = is_again ? run->times + 1 : 1;
    int rc = nb_text_count(s->run, s->bytes);
    if (rc != 0 || run->times != NB_MARK_RUN)
        return rc;
    memcpy(feature, shape, sizeof shape - 1);
    memcpy(feature + sizeof shape - 1, run->bytes, run->length);
    return nb_tokenize_feature(s->run->t, NB_FIELD_STRUCTURE, feature,
                               sizeof shape - 1 + run->length);
}

/* Counts the current token. `end` is the end of a word in the text. */
static int count_token(struct scanner *s, enum state state, const unsigned char *end)
{
    if (state == STATE_EMOJI || state == STATE_FLAG)
        return count_emoji(s);
    if (s->characters > NB_TOKEN_CHARACTERS)
        return nb_text_count_long(s->run, s->first, s->characters);
    return state == STATE_WORD ? count_word(s, end) : nb_text_count(s->run, s->bytes);
}

static int count_pair(struct scanner *s)
{
    unsigned char *token = nb_text_token(s->run);
    memcpy(token, s->before.bytes, s->before.length);
    memcpy(token + s->before.length, s->current.bytes, s->current.length);
    return nb_text_count(s->run, s->before.length + s->current.length);
}

static void begin_cluster(struct scanner *s, uint32_t character)
{
    s->current.length = nb_utf8_encode(character, s->current.bytes);
    s->current.characters = 1;
}

/* Begins another cluster of a run: the pair before it is complete. */
static int next_cluster(struct scanner *s, uint32_t character)
{
    int rc = s->before.length != 0 ? count_pair(s) : 0;
    s->before = s->current;
    begin_cluster(s, character);
    return rc;
}

static int extend_cluster(struct scanner *s, uint32_t mark)
{
    if (s->current.characters == CLUSTER_CHARACTERS)
        return next_cluster(s, mark);
    s->current.length += nb_utf8_encode(mark, s->current.bytes + s->current.length);
    s->current.characters++;
    return 0;
}

/* Ends the current token, if there is one, before `end` in the text. */
static int finish(struct scanner *s, const unsigned char *end)
{
    enum state state = s->state;
    s->state = STATE_NONE;
    if (state == STATE_NONE)
        return 0;
    if (state == STATE_PAIRS)
        return count_pair(s); /* in a run of one cluster `before` is empty */
    return count_token(s, state, end);
}

static bool is_mid(unsigned class_)
{
    return class_ == NB_CLASS_MID_BOTH || class_ == NB_CLASS_MID_LETTER ||
           class_ == NB_CLASS_MID_NUMBER;
}

/* Whether a mark of class `mid` may stand between two characters of the class `side` (UAX #29, WB6,
 * WB7, WB11, WB12). */
static bool joins(unsigned side, unsigned mid)
{
    return (side == NB_CLASS_LETTER && mid != NB_CLASS_MID_NUMBER) ||
           (side == NB_CLASS_DIGIT && mid != NB_CLASS_MID_LETTER);
}

/* Begins a token with a character that is not part of the one before; white space begins none. */
static void start(struct scanner *s, uint32_t packed)
{
    uint32_t character = nb_packed_character(packed);
    unsigned class_ = nb_packed_class(packed);
    if (class_ == NB_CLASS_LETTER || class_ == NB_CLASS_DIGIT || class_ == NB_CLASS_JOINER) {
        begin_token(s, STATE_WORD, character);
        s->from = s->at;
        s->last = class_;
    } else if (class_ == NB_CLASS_PAIR) {
        s->state = STATE_PAIRS;
        s->before.length = 0;
        begin_cluster(s, character);
    } else if (class_ == NB_CLASS_FLAG) {
        begin_token(s, STATE_FLAG, character);
    } else if (class_ == NB_CLASS_EMOJI || class_ == NB_CLASS_TONE) {
        begin_token(s, STATE_EMOJI, character);
        s->from = s->at;
    } else if (class_ != NB_CLASS_SPACE && class_ != NB_CLASS_END) {
        begin_token(s, STATE_SYMBOLS, character);
    }
}

static int restart(struct scanner *s, uint32_t packed)
{
    int rc = finish(s, s->at);
    start(s, packed);
    if (s->state != STATE_EMOJI && s->state != STATE_FLAG)
        s->emoji.length = 0;
    return rc;
}

static int step_symbols(struct scanner *s, uint32_t packed)
{
    if (nb_packed_character(packed) != s->first || nb_packed_class(packed) == NB_CLASS_END)
        return restart(s, packed);
    if (s->characters < NB_MARK_RUN)
        append(s, s->first);
    return 0;
}

/* Whether a zero width joiner stands before the character at hand: the folding has left it out. */
static bool is_joined(const struct scanner *s)
{
    static const char joiner[] = "\xE2\x80\x8D";
    return s->at - s->from > 3 && memcmp(s->at - 3, joiner, 3) == 0;
}

/* Goes on with an emoji as grapheme clusters do (UAX #29, GB9 and GB11): by the colour of the skin,
 * by a mark around it, or by a joiner and another emoji. Variation selectors are left out: they
 * only say how to draw it. */
static int step_emoji(struct scanner *s, uint32_t packed)
{
    unsigned class_ = nb_packed_class(packed);
    bool is_more = class_ == NB_CLASS_TONE || class_ == NB_CLASS_EXTEND;
    bool is_next = class_ == NB_CLASS_EMOJI && is_joined(s);
    if ((!is_more && !is_next) || s->characters + is_next >= EMOJI_CHARACTERS)
        return restart(s, packed);
    if (is_next)
        append(s, ZERO_WIDTH_JOINER);
    append(s, nb_packed_character(packed));
    return 0;
}

/* Takes the character behind a word and a mark: either the mark joins both, or the word ended
 * before the mark. */
static int step_behind_mid(struct scanner *s, uint32_t packed)
{
    uint32_t mid = s->mid;
    s->mid = 0;
    if (nb_packed_class(packed) == s->last && joins(s->last, nb_packed_class(mid))) {
        uint32_t mark = nb_packed_character(mid);
        append(s, mark == 0x2018 || mark == 0x2019 ? '\'' : mark);
        append(s, nb_packed_character(packed));
        return 0;
    }
    int rc = finish(s, s->mid_at);
    start(s, mid);
    return rc != 0 ? rc : step_symbols(s, packed);
}

static int step_word(struct scanner *s, uint32_t packed)
{
    unsigned class_ = nb_packed_class(packed);
    if (s->mid != 0)
        return step_behind_mid(s, packed);
    if (class_ == NB_CLASS_LETTER || class_ == NB_CLASS_DIGIT || class_ == NB_CLASS_JOINER) {
        append(s, nb_packed_character(packed));
        s->last = class_;
        return 0;
    }
    if (class_ == NB_CLASS_EXTEND) {
        append(s, nb_packed_character(packed));
        return 0;
    }
    if (is_mid(class_) && joins(s->last, class_)) {
        s->mid = packed;
        s->mid_at = s->at;
        return 0;
    }
    return restart(s, packed);
}

static int step(struct scanner *s, uint32_t packed)
{
    unsigned class_ = nb_packed_class(packed);
    switch (s->state) {
    case STATE_WORD:
        return step_word(s, packed);
    case STATE_SYMBOLS:
        return step_symbols(s, packed);
    case STATE_PAIRS:
        if (class_ == NB_CLASS_PAIR)
            return next_cluster(s, nb_packed_character(packed));
        if (class_ == NB_CLASS_EXTEND)
            return extend_cluster(s, nb_packed_character(packed));
        return restart(s, packed);
    case STATE_FLAG:
        if (class_ != NB_CLASS_FLAG)
            return restart(s, packed);
        append(s, nb_packed_character(packed));
        return finish(s, s->at);
    case STATE_EMOJI:
        return step_emoji(s, packed);
    case STATE_NONE:
    default:
        s->emoji.length = class_ == NB_CLASS_FLAG ? s->emoji.length : 0;
        start(s, packed);
        return 0;
    }
}

int nb_words_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end)
{
    struct nb_fold fold;
    struct scanner s = {.run = run, .state = STATE_NONE};
    nb_fold_begin(&fold, *at, end);
    for (;;) {
        uint32_t packed = nb_fold_next(&fold);
        s.at = fold.from;
        int rc = step(&s, packed);
        if (rc != 0)
            return rc;
        /* At white space there is no current token: if ASCII follows, the fast path goes on. */
        unsigned class_ = nb_packed_class(packed);
        bool over = class_ == NB_CLASS_END;
        if (over || (class_ == NB_CLASS_SPACE && fold.taken == fold.queued && fold.ahead_at < end &&
                     *fold.ahead_at < 0x80)) {
            *at = over ? end : fold.ahead_at;
            return 0;
        }
    }
}
