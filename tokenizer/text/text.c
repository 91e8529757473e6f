/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/text.h"

#include <assert.h>

#include "tokenizer/text/ascii_words.h"
#include "tokenizer/text/character.h"
#include "tokenizer/text/derived.h"
#include "tokenizer/text/scripts.h"
#include "tokenizer/text/token.h"
#include "tokenizer/text/words.h"

/* Whether a mark between two bytes of ASCII belongs to the word (UAX #29, rules WB6, WB7, WB11 and
 * WB12): don't, example.com, 3.14, 1,000; not a,b and not 1.a. */
static inline bool joins_ascii(unsigned char before, unsigned char mark, unsigned char after)
{
    if (mark == '\'' || mark == '.')
        return (nb_ascii_is_letter(before) && nb_ascii_is_letter(after)) ||
               (nb_ascii_is_digit(before) && nb_ascii_is_digit(after));
    return mark == ',' && nb_ascii_is_digit(before) && nb_ascii_is_digit(after);
}

/* The end of the word that `p` is inside of. */
static const unsigned char *skip_word(const unsigned char *p, const unsigned char *end)
{
    while (p < end && (nb_ascii_is_word(*p) || (end - p > 1 && joins_ascii(p[-1], p[0], p[1]))))
        p++;
    return p;
}

/* Reads the word at *at into the place of the next token and moves *at to its end. Returns its
 * length, and sets *capitals if it has any; of a word longer than NB_TOKEN_CHARACTERS only the
 * beginning is read. */
static inline size_t read_word(struct nb_text_run *run, const unsigned char **at,
                               const unsigned char *end, bool *capitals)
{
    const unsigned char *p = *at;
    unsigned char *token = nb_text_token(run);
    size_t length = 0;
    for (;;) {
        unsigned n = nb_ascii_word(p, (size_t)(end - p), token + length, capitals);
        p += n;
        length += n;
        if (length > NB_TOKEN_CHARACTERS)
            break;
        if (n == 16)
            continue;
        if (end - p < 2 || !nb_ascii_is_mid(*p) || !joins_ascii(p[-1], p[0], p[1]))
            break;
        token[length++] = *p++;
    }
    *at = length > NB_TOKEN_CHARACTERS ? skip_word(p, end) : p;
    return length;
}

/* Whether the word that ends at `p` may go on with a character that is not ASCII: at once, or
 * behind a mark. */
static inline bool touches_unicode(const unsigned char *p, const unsigned char *end)
{
    return p < end && (*p >= 0x80 || (end - p > 1 && p[1] >= 0x80 && *p > ' '));
}

/* Counts a run of one mark. */
static inline int count_marks(struct nb_text_run *run, unsigned char mark, size_t length)
{
    if (length > NB_TOKEN_CHARACTERS)
        return nb_text_count_long(run, mark, length);
    memset(nb_text_token(run), mark, length);
    return nb_text_count(run, length);
}

/* Counts the tokens from *at on that neither hold nor touch a byte above 0x7F: beside one, a mark
 * may compose with the token, or an invisible character may continue it. Moves *at to the beginning
 * of the first token that does, or to `end`. Returns as nb_text_count. */
static int scan_ascii(struct nb_text_run *run, const unsigned char **at, const unsigned char *end)
{
    const unsigned char *p = *at;
    int rc = 0;
    while (rc == 0 && p < end) {
        const unsigned char *start = p;
        if (nb_ascii_is_word(*p)) {
            bool capitals = false;
            size_t length = read_word(run, &p, end, &capitals);
            if (touches_unicode(p, end)) {
                p = start;
                break;
            }
            rc = length <= NB_TOKEN_CHARACTERS
                     ? nb_text_count_word(run, length, start, p,
                                          capitals ? NB_CAPITALS_SOME : NB_CAPITALS_NONE)
                     : nb_text_count_long(run, nb_text_token(run)[0], (size_t)(p - start));
        } else if (*p <= ' ' || *p == 0x7F) {
            p++;
        } else if (*p >= 0x80) {
            break;
        } else {
            while (p < end && *p == *start)
                p++;
            if (p < end && *p >= 0x80) {
                p = start;
                break;
            }
            rc = count_marks(run, *start, (size_t)(p - start));
        }
    }
    *at = p;
    return rc;
}

static int scan(struct nb_text_run *run, const char *text, size_t length)
{
    assert(nb_character_table != NULL && strlen(run->prefix) <= NB_PREFIX_BYTES);
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    int rc = 0;
    run->storage = run->t->bag->private_;
    run->prefix_length = strnlen(run->prefix, NB_PREFIX_BYTES);
    while (rc == 0 && at < end) {
        rc = scan_ascii(run, &at, end);
        if (rc == 0 && at < end)
            rc = nb_words_scan(run, &at, end);
    }
    return rc;
}

static int scan_field(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                      const char *text, size_t length)
{
    struct nb_derived derived = {.word = {NULL, 0}};
    struct nb_text_run run = {.t = t,
                              .space = nb_feature_id(field, 0),
                              .hashed = NB_FIELD_HASH,
                              .step = nb_field_is_token(field),
                              .prefix = prefix,
                              .derived = nb_derived_wants_words(t, field) ? &derived : NULL};
    return scan(&run, text, length);
}

int nb_tokenize_text(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     const char *text, size_t length)
{
    length = nb_work_take(&t->work, length, NB_WORK_WORDS);
    if (length == 0)
        return 0;
    int rc = nb_bag_prepare(t->bag);
    if (rc == 0 && nb_tokenizing_wants(t, field))
        rc = scan_field(t, field, prefix, text, length);
    bool is_text = field == NB_FIELD_BODY || field == NB_FIELD_SUBJECT;
    if (rc == 0 && is_text)
        rc = nb_derived_text(t, field, text, length);
    if (rc == 0 && is_text && nb_tokenizing_wants(t, NB_FIELD_STRUCTURE) &&
        nb_scripts_zero_width(text, length))
        rc = nb_tokenize_feature(t, NB_FIELD_STRUCTURE, "text:zero-width", 15);
    return rc == NB_BUDGET_SPENT ? 0 : rc;
}

int nb_tokenize_value(struct nb_tokenizing *t, unsigned part, const char *prefix, const char *text,
                      size_t length)
{
    struct nb_text_run run = {.t = t,
                              .space = nb_feature_value_id(part, 0),
                              .hashed = NB_PART_HASH,
                              .step = 1,
                              .prefix = prefix};
    length = nb_work_take(&t->work, length, NB_WORK_WORDS);
    if (length == 0)
        return 0;
    int rc = nb_bag_prepare(t->bag);
    if (rc == 0)
        rc = scan(&run, text, length);
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
