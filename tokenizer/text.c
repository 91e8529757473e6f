/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "tokenizer/character.h"
#include "tokenizer/scripts.h"
#include "tokenizer/token.h"

enum state {
    STATE_NONE,
    STATE_WORD,
    STATE_SYMBOLS, /* a run of equal marks */
    STATE_PAIRS,   /* a run of letters of a script without spaces */
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

/* A word without the characters for which nb_scripts_added is not 0. */
struct plain {
    unsigned dress; /* disguises of the characters left out; 0: none, other members are not set */
    size_t bytes, characters;
    unsigned char text[4 * NB_TOKEN_CHARACTERS];
};

/* Characters of one emoji (a grapheme cluster of UAX #29); further ones begin another. The longest
 * emoji in use have ten: a kiss of two people, each with a skin colour. */
enum {
    EMOJI_CHARACTERS = 16,
    EMOJI_BYTES = 4 * EMOJI_CHARACTERS,
    EMOJI_RUN = 3, /* this many equal emoji in a row are a shape */
    ZERO_WIDTH_JOINER = 0x200D
};

/* A run of equal emoji. Three in a row are a shape, which is counted once. */
struct emoji_run {
    unsigned char bytes[EMOJI_BYTES];
    size_t length; /* bytes of the emoji; 0: the last token was no emoji */
    size_t times;
};

struct scanner {
    struct nb_text_run *run;
    enum state state;
    unsigned char *token; /* the token so far, in the bag's room */
    size_t bytes;
    size_t characters; /* length of the token, including characters over the limit, not kept */
    uint32_t first;    /* the first character of the token */
    unsigned last;     /* class of the last character of the word, combining marks left out */
    uint32_t mid; /* packed mark that belongs to the word if the next character does; 0: none */
    const unsigned char *at;     /* position of the current character in the text */
    const unsigned char *from;   /* position of the beginning of the word */
    const unsigned char *mid_at; /* position of `mid` */
    struct cluster before, current;
    struct cluster lone; /* a run of a single cluster a few blanks before; its length is 0: none */
    unsigned blanks;     /* blanks after `lone` */
    struct emoji_run emoji;
    uint32_t base; /* the last character of the word that is no mark */
    struct plain plain;
};

static void append(struct scanner *s, uint32_t character)
{
    if (s->characters++ < NB_TOKEN_CHARACTERS)
        s->bytes += nb_utf8_encode(character, s->token + s->bytes);
    if (s->plain.dress != 0 && s->plain.characters++ < NB_TOKEN_CHARACTERS)
        s->plain.bytes += nb_utf8_encode(character, s->plain.text + s->plain.bytes);
}

/* Appends a character that the plain word leaves out. */
static void append_added(struct scanner *s, uint32_t character, unsigned dress)
{
    if (s->plain.dress == 0) {
        memcpy(s->plain.text, s->token, s->bytes);
        s->plain.bytes = s->bytes;
        s->plain.characters = s->characters;
    }
    s->plain.dress |= dress;
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
    s->plain.dress = 0;
    append(s, character);
}

/* Whether the text is in the assumed charset. Computed only when a word needs it, in few texts. */
static bool is_readable(struct nb_text_run *run)
{
    if (!run->is_judged)
        run->is_readable = nb_text_is_readable(run->text);
    run->is_judged = true;
    return run->is_readable;
}

/* Writes the plain reading of the current word to `plain`, which has room for a token. Returns its
 * disguises; 0: it has none. */
static unsigned plain_word(const struct scanner *s, unsigned char *plain, size_t *length)
{
    const struct plain *p = &s->plain;
    const unsigned char *word = p->dress != 0 ? p->text : s->token;
    size_t bytes = p->dress != 0 ? p->bytes : s->bytes;
    *length = 0;
    if ((p->dress != 0 ? p->characters : s->characters) > NB_TOKEN_CHARACTERS)
        return 0;
    unsigned dress = nb_scripts_plain(word, bytes, plain, length);
    if (dress != 0 || p->dress == 0)
        return dress | p->dress;
    memcpy(plain, word, bytes);
    *length = bytes;
    return p->dress;
}

/* Counts the plain reading of a word, with features for its disguises. */
static int count_plain(struct scanner *s, unsigned dress, const unsigned char *plain, size_t length)
{
    static const struct {
        unsigned dress;
        const char *feature;
    } features[] = {{NB_DRESS_MIXED, "word:mixed-scripts"},
                    {NB_DRESS_CAPITALS, "word:small-capitals"},
                    {NB_DRESS_STRUCK, "word:struck-through"}};
    memcpy(nb_text_token(s->run), plain, length);
    int rc = length > 0 ? nb_text_count(s->run, length) : 0;
    for (size_t i = 0; rc == 0 && i < sizeof features / sizeof *features; i++) {
        if ((dress & features[i].dress) != 0)
            rc = nb_tokenize_feature(s->run->t, NB_FIELD_STRUCTURE, features[i].feature,
                                     strlen(features[i].feature));
    }
    return rc;
}

/* Counts a word, and its plain reading if that differs and the settings want the structure of
 * texts. Text that was read in the wrong charset also mixes scripts, but is not disguised. `end` is
 * the word's end in the text. */
static int count_word(struct scanner *s, const unsigned char *end)
{
    unsigned char plain[4 * NB_TOKEN_CHARACTERS];
    size_t length = 0;
    unsigned dress =
        nb_tokenizing_wants(s->run->t, NB_FIELD_STRUCTURE) ? plain_word(s, plain, &length) : 0;
    if ((dress & NB_DRESS_MIXED) != 0 && !is_readable(s->run))
        dress = 0;
    int rc = s->characters > NB_TOKEN_CHARACTERS
                 ? nb_text_count_long(s->run, s->first, s->characters)
                 : nb_text_count_word(s->run, s->bytes, s->from, end);
    return rc != 0 || dress == 0 ? rc : count_plain(s, dress, plain, length);
}

/* Counts an emoji or flag, and a feature for three of it in a row. */
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
    if (rc != 0 || run->times != EMOJI_RUN)
        return rc;
    memcpy(feature, shape, sizeof shape - 1);
    memcpy(feature + sizeof shape - 1, run->bytes, run->length);
    return nb_tokenize_feature(s->run->t, NB_FIELD_STRUCTURE, feature,
                               sizeof shape - 1 + run->length);
}

static int count_symbols(struct scanner *s)
{
    size_t kept = s->characters < NB_TOKEN_CHARACTERS ? s->characters : NB_TOKEN_CHARACTERS;
    return nb_text_count(s->run, s->bytes / kept * nb_mark_run(s->characters));
}

/* Counts the current token. `end` is the end of a word in the text. */
static int count_token(struct scanner *s, enum state state, const unsigned char *end)
{
    if (state == STATE_EMOJI || state == STATE_FLAG)
        return count_emoji(s);
    return state == STATE_WORD ? count_word(s, end) : count_symbols(s);
}

static int count_pair(struct scanner *s)
{
    unsigned char *token = nb_text_token(s->run);
    memcpy(token, s->before.bytes, s->before.length);
    memcpy(token + s->before.length, s->current.bytes, s->current.length);
    return nb_text_count(s->run, s->before.length + s->current.length);
}

/* Most blanks between spaced-out characters, as in titles; more of them are a gap. */
enum { BLANKS = 3 };

/* Counts the pair of two runs of a single cluster each, with a few blanks in between, if the
 * settings want the structure of texts: "发 票" reads as "发票". */
static int count_spaced(struct scanner *s)
{
    struct cluster lone = s->lone;
    s->lone = s->current;
    s->blanks = 0;
    if (lone.length == 0 || !nb_tokenizing_wants(s->run->t, NB_FIELD_STRUCTURE))
        return 0;
    unsigned char *token = nb_text_token(s->run);
    memcpy(token, lone.bytes, lone.length);
    memcpy(token + lone.length, s->current.bytes, s->current.length);
    return nb_text_count(s->run, lone.length + s->current.length);
}

static void begin_cluster(struct scanner *s, uint32_t character)
{
    s->current.length = nb_utf8_encode(character, s->current.bytes);
    s->current.characters = 1;
}

/* Begins another cluster of a run: the pair before it is now complete. */
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
    if (state == STATE_PAIRS) {
        int rc = count_pair(s); /* in a run of a single cluster `before` is empty */
        bool is_lone = s->before.length == 0;
        s->lone.length = is_lone ? s->lone.length : 0;
        return rc != 0 || !is_lone ? rc : count_spaced(s);
    }
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

/* Tatweel is the only letter that does not change a word: it only makes it look longer. */
enum { TATWEEL = 0x640 };

static void append_letter(struct scanner *s, uint32_t character)
{
    if (character == TATWEEL)
        append_added(s, character, NB_DRESS_SIGNS);
    else
        append(s, character);
    s->base = character;
}

static void append_mark(struct scanner *s, uint32_t mark)
{
    unsigned dress = nb_scripts_added(mark, s->base);
    if (dress != 0)
        append_added(s, mark, dress);
    else
        append(s, mark);
}

static void begin_word(struct scanner *s, uint32_t character)
{
    begin_token(s, STATE_WORD, character);
    s->from = s->at;
    s->base = character;
    if (character == TATWEEL) { /* the plain word is empty so far */
        s->plain.dress = NB_DRESS_SIGNS;
        s->plain.bytes = s->plain.characters = 0;
    }
}

/* Begins a token with a character that is not part of the last token; white space begins no token.
 */
static void start(struct scanner *s, uint32_t packed)
{
    uint32_t character = nb_packed_character(packed);
    unsigned class_ = nb_packed_class(packed);
    if (class_ == NB_CLASS_LETTER || class_ == NB_CLASS_DIGIT || class_ == NB_CLASS_JOINER) {
        begin_word(s, character);
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
    s->blanks = class_ == NB_CLASS_SPACE ? s->blanks + 1 : 0;
    if (class_ != NB_CLASS_PAIR && (class_ != NB_CLASS_SPACE || s->blanks > BLANKS))
        s->lone.length = 0;
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
    append(s, s->first);
    return 0;
}

/* Whether a zero width joiner, which folding removes, stands before the current character. */
static bool is_joined(const struct scanner *s)
{
    static const char joiner[] = "\xE2\x80\x8D";
    return s->at - s->from > 3 && memcmp(s->at - 3, joiner, 3) == 0;
}

/* Continues an emoji like a grapheme cluster (UAX #29, GB9 and GB11): with a skin colour, an
 * enclosing mark, or a joiner and another emoji. Variation selectors are left out: they only choose
 * how the emoji is drawn. */
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

/* Takes the character after a word and a mark: either the mark joins the two, or the word ended
 * before the mark. */
static int step_behind_mid(struct scanner *s, uint32_t packed)
{
    uint32_t mid = s->mid;
    s->mid = 0;
    if (nb_packed_class(packed) == s->last && joins(s->last, nb_packed_class(mid))) {
        uint32_t mark = nb_packed_character(mid);
        append(s, mark == 0x2018 || mark == 0x2019 ? '\'' : mark);
        append_letter(s, nb_packed_character(packed));
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
        append_letter(s, nb_packed_character(packed));
        s->last = class_;
        return 0;
    }
    if (class_ == NB_CLASS_EXTEND) {
        append_mark(s, nb_packed_character(packed));
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

/* Begins a scan. Does not clear all members, because most words that are not ASCII begin one. */
static void begin_scan(struct scanner *s, struct nb_text_run *run)
{
    s->run = run;
    s->state = STATE_NONE;
    s->mid = s->base = 0;
    s->bytes = s->characters = 0;
    s->blanks = 0;
    s->before.length = s->current.length = s->lone.length = 0;
    s->emoji.length = 0;
    s->plain.dress = 0;
}

/* Whether `next` is a blank after a lone character of a script without spaces: then the scan
 * continues to the next character. */
static bool is_spaced(const struct scanner *s, unsigned char next)
{
    return s->lone.length != 0 && next <= ' ';
}

int nb_words_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end)
{
    struct nb_fold fold;
    struct scanner s;
    begin_scan(&s, run);
    nb_fold_begin(&fold, *at, end);
    for (;;) {
        uint32_t packed = nb_fold_next(&fold);
        s.at = fold.from;
        nb_text_at(run, s.at);
        int rc = step(&s, packed);
        if (rc != 0)
            return rc;
        /* At white space there is no current token: if ASCII follows, the fast path continues. */
        unsigned class_ = nb_packed_class(packed);
        bool over = class_ == NB_CLASS_END;
        if (over || (class_ == NB_CLASS_SPACE && fold.taken == fold.queued && fold.ahead_at < end &&
                     *fold.ahead_at < 0x80 && !is_spaced(&s, *fold.ahead_at))) {
            *at = over ? end : fold.ahead_at;
            return 0;
        }
    }
}

static int scan(struct nb_text_run *run, const char *prefix, const char *text, size_t length)
{
    assert(nb_character_table != NULL && strlen(prefix) <= NB_PREFIX_BYTES);
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    int rc = 0;
    run->storage = run->t->bag->private_;
    run->text = (struct nb_string){text, length};
    run->is_judged = false;
    run->next_passage = (const unsigned char *)nb_tokenize_passage(run->t, text);
    run->prefix_length = strnlen(prefix, NB_PREFIX_BYTES);
    memcpy(run->prefix, prefix, run->prefix_length);
    while (rc == 0 && at < end) {
        rc = nb_ascii_scan(run, &at, end);
        if (rc == 0 && at < end)
            rc = nb_words_scan(run, &at, end);
    }
    return rc;
}

static int scan_field(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                      const char *text, size_t length)
{
    struct nb_derived derived;
    struct nb_text_run run;
    nb_derived_begin(&derived);
    run.t = t;
    run.space = nb_feature_id(field, 0);
    run.hashed = NB_FIELD_HASH;
    run.step = nb_field_is_token(field);
    run.derived = nb_derived_wants_words(t, field) ? &derived : NULL;
    return scan(&run, prefix, text, length);
}

/* Counts the words that overrides reorder, in the order in which they are shown, and a feature for
 * their presence. */
static int count_shown(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                       const char *text, size_t length)
{
    static const char feature[] = "text:bidi-override";
    struct nb_text_run run = {.t = t,
                              .space = nb_feature_id(field, 0),
                              .hashed = NB_FIELD_HASH,
                              .step = nb_field_is_token(field)};
    struct nb_buffer shown = {0};
    int rc = nb_override_shown(text, length, &shown);
    shown.length = nb_work_take(&t->work, shown.length, NB_WORK_WORDS);
    if (rc == 0 && shown.length > 0)
        rc = nb_tokenize_feature(t, NB_FIELD_STRUCTURE, feature, sizeof feature - 1);
    if (rc == 0 && shown.length > 0 && nb_tokenizing_wants(t, field))
        rc = scan(&run, prefix, shown.bytes, shown.length);
    nb_buffer_deinit(&shown);
    return rc;
}

static int keep_visible(struct nb_bag *bag, const char *text, size_t length)
{
    size_t room = NB_BAG_VISIBLE_MOST - bag->visible.length;
    return nb_buffer_append(&bag->visible, text, length < room ? length : room);
}

int nb_tokenize_text(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     const char *text, size_t length)
{
    length = nb_work_take(&t->work, length, NB_WORK_WORDS);
    if (length == 0)
        return 0;
    int rc = nb_bag_prepare(t->bag);
    t->passage_text = field == NB_FIELD_BODY ? text : NULL;
    if (rc == 0 && field == NB_FIELD_BODY && t->settings->with_visible)
        rc = keep_visible(t->bag, text, length);
    if (rc == 0 && nb_tokenizing_wants(t, field))
        rc = scan_field(t, field, prefix, text, length);
    bool is_text = field == NB_FIELD_BODY || field == NB_FIELD_SUBJECT;
    if (rc == 0 && is_text)
        rc = nb_derived_text(t, field, text, length);
    t->passage_before += t->passage_text != NULL ? length : 0;
    t->bag->visible_length = t->passage_before;
    t->passage_text = NULL;
    t->bag->passage = 0;
    unsigned unseen =
        nb_tokenizing_wants(t, NB_FIELD_STRUCTURE) ? nb_scripts_unseen(text, length) : 0;
    if (rc == 0 && is_text && (unseen & NB_UNSEEN_SPLITS) != 0)
        rc = nb_tokenize_feature(t, NB_FIELD_STRUCTURE, "text:zero-width", 15);
    if (rc == 0 && (unseen & NB_UNSEEN_OVERRIDES) != 0)
        rc = count_shown(t, field, prefix, text, length);
    return rc == NB_BUDGET_SPENT ? 0 : rc;
}

int nb_tokenize_value(struct nb_tokenizing *t, unsigned part, const char *prefix, const char *text,
                      size_t length)
{
    struct nb_text_run run = {
        .t = t, .space = nb_feature_value_id(part, 0), .hashed = NB_PART_HASH, .step = 1};
    length = nb_work_take(&t->work, length, NB_WORK_WORDS);
    if (length == 0)
        return 0;
    int rc = nb_bag_prepare(t->bag);
    if (rc == 0)
        rc = scan(&run, prefix, text, length);
    return rc == NB_BUDGET_SPENT ? 0 : rc;
}

int nb_text_setup(void)
{
    return nb_character_setup();
}

void nb_text_teardown(void)
{
    nb_character_teardown();
}
