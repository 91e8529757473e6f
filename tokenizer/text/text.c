/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/text.h"

#include <assert.h>

#include "tokenizer/text/character.h"
#include "tokenizer/text/derived.h"
#include "tokenizer/text/scripts.h"
#include "tokenizer/text/token.h"

static int scan(struct nb_text_run *run, const char *prefix, const char *text, size_t length)
{
    assert(nb_character_table != NULL && strlen(prefix) <= NB_PREFIX_BYTES);
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    int rc = 0;
    run->storage = run->t->bag->private_;
    run->text = (struct nb_string){text, length};
    run->is_judged = false;
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
