/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "tests/unit/run.h"
#include "tests/unit/tokenizer/cpu_time.h"
#include "tokenizer/text.h"
#include "tokenizer/token.h"

static struct nb_key key;

static void set_up(void)
{
    const unsigned char bytes[NB_KEY_BYTES] = {7};
    nb_key_restore(&key, bytes);
    ck_assert_int_eq(nb_text_setup(), 0);
}

enum {
    BODY = 1 << NB_FIELD_BODY,
    SUBJECT = 1 << NB_FIELD_SUBJECT,
    STRUCTURE = 1 << NB_FIELD_STRUCTURE,
    URL = 1 << NB_FIELD_URL,
    CASE = 1 << NB_FIELD_CASE,
    PAIR = 1 << NB_FIELD_PAIR,
    NGRAM = 1 << NB_FIELD_NGRAM,
    ALL = (1 << NB_FIELDS) - 1
};

/* The features of some fields as text: "case:Free|2 case:MONEY". */
static void listing(const struct nb_bag *bag, unsigned fields, struct nb_buffer *out)
{
    out->length = 0;
    for (size_t i = 0; i < bag->size; i++) {
        if ((fields >> nb_feature_field(bag->features[i].id) & 1) == 0)
            continue;
        nb_buffer_puts(out, out->length == 0 ? "" : ", ");
        ck_assert_ptr_null(memchr(bag->texts[i].bytes, '\0', bag->texts[i].length));
        nb_buffer_append(out, bag->texts[i].bytes, bag->texts[i].length);
        if (bag->features[i].count > 1)
            nb_buffer_printf(out, "|%u", bag->features[i].count);
    }
    nb_buffer_append(out, "", 1);
}

static struct nb_tokenizing begin(struct nb_bag *bag, const struct nb_tokenizer_settings *settings)
{
    static const struct nb_tokenizer_limits limits = {.tokens = 100000};
    nb_bag_reset(bag);
    return (struct nb_tokenizing){
        &key, settings, &limits, bag, .tokens_left = limits.tokens, .work = NB_WORK_UNBOUNDED};
}

#define TEN(x) x x x x x x x x x x

static const struct {
    unsigned fields; /* that are looked at; all are counted */
    enum nb_field field;
    const char *text;
    const char *features;
} cases[] = {
    {CASE, NB_FIELD_BODY, "Free free MONEY 3X Don't", "case:Free, case:MONEY, case:3X, case:Don't"},
    {CASE, NB_FIELD_BODY, "Straße ÉTÉ été L’Été Москва",
     "case:Straße, case:ÉTÉ, case:L'Été, "
     "case:Москва"},
    {CASE, NB_FIELD_BODY, "F\u200Bree \xC9t\xE9 e\u0301 ﬁ", "case:Free, case:Été"},
    {CASE, NB_FIELD_BODY, "É. É.x É.\"", "case:É|2, case:É.x"},
    {CASE, NB_FIELD_SUBJECT, "Free", "case:Free"},
    {CASE, NB_FIELD_ADDRESS, "Free", ""},
    {CASE, NB_FIELD_BODY, "ABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJABC", ""},
    {BODY | STRUCTURE, NB_FIELD_BODY, "fr\u0435\u0435 \u0440\u0430y\u0440\u0430l",
     "fr\u0435\u0435, free, word:mixed-scripts|2, \u0440\u0430y\u0440\u0430l, paypal"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "\u043F\u0440\u0438\u0432\u0435\u0442 free \u03B1\u03B2",
     "\u043F\u0440\u0438\u0432\u0435\u0442, free, \u03B1\u03B2"},
    {STRUCTURE, NB_FIELD_SUBJECT, "vi\u0430gra", "word:mixed-scripts, shape:upper=0"},
    {STRUCTURE, NB_FIELD_BODY, "fr\u200Bee", "text:zero-width"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "مُجَّانًا مجـــانية ـ شكرا",
     "مُجَّانًا, مجانا, مجـــانية, مجانية, ـ, شكرا"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "شَـٰكَر", "شَـٰكَر, شكر"},
    {BODY | STRUCTURE, NB_FIELD_BODY, TEN("ـ") TEN("ـ") TEN("ـ") TEN("ـ") "مجانية",
     "long:ـ:32, مجانية"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "שָׁלוֹם בְּרֵאשִׁ֖ית פרס", "שָׁלוֹם, שלום, בְּרֵאשִׁ֖ית, בראשית, פרס"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "ᴠɪᴀɢʀᴀ Cᴀꜱɪɴᴏ",
     "ᴠɪᴀɢʀᴀ, viagra, word:small-capitals|2, cᴀꜱɪɴᴏ, casino"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "vł\u2C65gra łódź dǫ",
     "vł\u2C65gra, vlagra, word:struck-through, łódź, dǫ"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "v\u0336i\u0336a\u0336gr\u0338a\u0335 fr\u0332e\u20DDe\u20D2",
     "v\u0336i\u0336a\u0336gr\u0338a\u0335, viagra, word:struck-through|2, fr\u0332e\u20DDe\u20D2, "
     "free"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "в\u0336и\u0336агра ᴠ\u0456ᴀgr\u0430",
     "в\u0336и\u0336агра, виагра, word:struck-through, ᴠ\u0456ᴀgr\u0430, viagra, "
     "word:mixed-scripts, word:small-capitals"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "v\u033A\u034Bi\u0322agr\u0321a 1\u20E3 na\u00EFve",
     "v\u033A\u034Bi\u0322agr\u0321a, viagra, 1\u20E3, na\u00EFve"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "发 票 正\u3000\u3000规 a 开票",
     "发, 票, 发票, 正, 票正, 规, 正规, a, 开票"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "发    票! 正x规", "发, 票, !, 正, x, 规"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "发  票\r\n正 规则", "发, 票, 发票, 正, 票正, 规则"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "go \u202Eargaiv yub\u202C now",
     "go, argaiv, yub, now, text:bidi-override, buy, viagra"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "via\u202Earg\u202C, ok",
     "viaarg, ,|2, ok, text:bidi-override, viagra"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "\u202Eedis rehto\nplain",
     "edis, rehto, plain, text:bidi-override, other, side"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "\u202Ecba\u202Dgaiv\u202Cx\u202C",
     "cbagaivx, text:bidi-override, xgaivabc"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "\u202Eשלום\u202C \u202Dabc\u202C \u202C", "שלום, abc"},
    {BODY | STRUCTURE, NB_FIELD_BODY, "\u202Dםולש\u202C", "םולש, text:bidi-override, שלום"},
    {SUBJECT | STRUCTURE, NB_FIELD_SUBJECT, "\u202Eeerf",
     "prefix:eerf, shape:upper=0, text:bidi-override, prefix:free"},
    {STRUCTURE, NB_FIELD_BODY, "🎰🎰🎰🎰🎰 🎰🎰🎰", "shape:run=🎰|2"},
    {STRUCTURE, NB_FIELD_BODY, "🎰🎰💰🎰 🎰🎰x🎰", ""},
    {STRUCTURE, NB_FIELD_BODY, "🇩🇪🇩🇪🇩🇪🇩🇪 👍🏽👍🏽👍🏽",
     "shape:run=🇩🇪, shape:run=👍🏽"},
    {STRUCTURE, NB_FIELD_BODY, "\uFEFFfree \U0001F468\u200D\U0001F469", ""},
    {STRUCTURE, NB_FIELD_BODY, "\uFEFFfr\uFEFFee", "text:zero-width"},
    {PAIR, NB_FIELD_BODY, "a b, c! a b", "pair:a b|2, pair:b c, pair:c a"},
    {PAIR, NB_FIELD_BODY, "É x", "pair:é x"},
    {PAIR, NB_FIELD_BODY, "one", ""},
    {PAIR, NB_FIELD_SUBJECT, "a b", "pair:a b"},
    {PAIR, NB_FIELD_ADDRESS, "a b", ""},
    {NGRAM, NB_FIELD_BODY, "  Hello \n\t you",
     "ngram:hello, ngram:ello , ngram:llo y, ngram:lo yo, "
     "ngram:o you"},
    {NGRAM, NB_FIELD_SUBJECT, "МИР\u200B大奖", "ngram:мир大奖"},
    {NGRAM, NB_FIELD_BODY, "aaaaaaaa", "ngram:aaaaa|4"},
    {NGRAM, NB_FIELD_BODY, "four", ""},
    {NGRAM, NB_FIELD_ADDRESS, "long enough", ""},
    {URL, NB_FIELD_BODY, "go to http://www.Example.com/Login?x=1.",
     "url:www.example.com, url:com, url:example.com, url:/login, url:/x, url:/1"},
    {URL, NB_FIELD_BODY, "(https://a.bc:8080)", "url:a.bc, url:bc, url:port=8080"},
    {URL, NB_FIELD_BODY, "http://bank.de@evil.ru/", "url:@, url:evil.ru, url:ru"},
    {URL, NB_FIELD_BODY, "WWW.spam.biz! awww.x.y www. www.",
     "url:www.spam.biz, url:biz, "
     "url:spam.biz"},
    {URL, NB_FIELD_BODY, "joe@mail.de, @ @x a@b joe@x.org.",
     "url:mail.de, url:de, url:x.org, "
     "url:org"},
    {URL, NB_FIELD_BODY, "http://10.1.2.3/", "url:10., url:10.1., url:10.1.2., url:10.1.2.3"},
    {URL, NB_FIELD_BODY, ":// :@ http:// a:b//c", ""},
    {URL, NB_FIELD_SUBJECT, "http://a.bc", ""},
    {STRUCTURE, NB_FIELD_SUBJECT, "FREE mon!!!!!", "shape:upper=2, shape:!=3"},
    {STRUCTURE, NB_FIELD_SUBJECT, "ÄÖÜ!", "shape:upper=4, shape:!=1"},
    {STRUCTURE, NB_FIELD_SUBJECT, "quiet", "shape:upper=0"},
    {STRUCTURE, NB_FIELD_SUBJECT, "123", ""},
    {STRUCTURE, NB_FIELD_BODY, "LOUD!", ""},
};

START_TEST(derives_each_case)
{
    struct nb_bag bag = {0};
    struct nb_buffer got = {0};
    const struct nb_tokenizer_settings settings = {.fields = ALL};
    struct nb_tokenizing t = begin(&bag, &settings);
    const char *prefix = cases[_i].field == NB_FIELD_BODY ? "" : "prefix:";
    ck_assert_int_eq(
        nb_tokenize_text(&t, cases[_i].field, prefix, cases[_i].text, strlen(cases[_i].text)), 0);
    listing(&bag, cases[_i].fields, &got);
    ck_assert_msg(strcmp(got.bytes, cases[_i].features) == 0, "case %d, \"%s\": \"%s\", not \"%s\"",
                  _i, cases[_i].text, got.bytes, cases[_i].features);
    nb_buffer_deinit(&got);
    nb_bag_deinit(&bag);
}
END_TEST

#define LINE " now and then a new word will wander w , w: w. but no row of two will"

/* Text is searched for links in blocks: wherever they stand, and whatever is behind them. */
START_TEST(links_are_found_at_any_place)
{
    static const char *const texts[][2] = {
        {" Www.a.bc ", "url:www.a.bc, url:bc, url:a.bc"},
        {" joe@a.bc", "url:a.bc, url:bc"},
        {" ftp://a.bc", "url:a.bc, url:bc"},
        {" wWw.a.bc:joe@d.ef", "url:@, url:d.ef, url:ef"},
        {" wwww.a.bc w ww www", ""},
    };
    const struct nb_tokenizer_settings settings = {.fields = ALL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int place = 0; place < 100; place++) {
            struct nb_bag bag = {0};
            struct nb_buffer got = {0};
            char text[256];
            int length = snprintf(text, sizeof text, "%.*s%s%.*s", place % 50, LINE, texts[i][0],
                                  place / 50 * 40, LINE);
            struct nb_tokenizing t = begin(&bag, &settings);
            ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text, (size_t)length), 0);
            listing(&bag, URL, &got);
            ck_assert_msg(strcmp(got.bytes, texts[i][1]) == 0, "\"%s\": \"%s\"", text, got.bytes);
            nb_buffer_deinit(&got);
            nb_bag_deinit(&bag);
        }
}
END_TEST

/* Whatever is derived, the tokens are the same, and a field that is off is not there. */
START_TEST(tokens_do_not_depend_on_what_is_derived)
{
    static const char text[] = "Free É MONEY http://a.bc x@y.zz FREE free! 大奖 Straße";
    struct nb_bag plain = {0};
    struct nb_bag rich = {0};
    struct nb_buffer one = {0};
    struct nb_buffer other = {0};
    for (unsigned fields = 0; fields <= ALL; fields++) {
        const struct nb_tokenizer_settings few = {.fields = fields & (BODY | SUBJECT)};
        const struct nb_tokenizer_settings many = {.fields = fields};
        struct nb_tokenizing t = begin(&plain, &few);
        ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text, strlen(text)), 0);
        t = begin(&rich, &many);
        ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text, strlen(text)), 0);
        listing(&plain, BODY, &one);
        listing(&rich, BODY, &other);
        ck_assert_str_eq(one.bytes, other.bytes);
        listing(&rich, ALL & ~fields, &other);
        ck_assert_str_eq(other.bytes, "");
        if ((fields & URL) == 0)
            ck_assert_uint_eq(plain.positions, rich.positions);
    }
    nb_buffer_deinit(&one);
    nb_buffer_deinit(&other);
    nb_bag_deinit(&plain);
    nb_bag_deinit(&rich);
}
END_TEST

static uint64_t ngrams(const struct nb_bag *bag)
{
    uint64_t count = 0;
    for (size_t i = 0; i < bag->size; i++)
        if (nb_feature_field(bag->features[i].id) == NB_FIELD_NGRAM)
            count += bag->features[i].count;
    return count;
}

/* Of Subject and body together 3,500 bytes; pairs and n-grams do not reach from text to text. */
/* All n-grams of a long text, one by one, of characters of one byte to four. */
START_TEST(ngrams_are_five_characters_wherever_they_lie)
{
    static const char *const letters[] = {"a", "b", "7", "é", "я", "ह", "漢", "𐍈"};
    enum { CHARACTERS = 900, KINDS = sizeof letters / sizeof *letters };
    const char *characters[CHARACTERS];
    struct nb_bag bag = {0}, want = {0};
    struct nb_buffer text = {0}, ngram = {0};
    const struct nb_tokenizer_settings settings = {.fields = 1u << NB_FIELD_NGRAM};
    srand(77);
    for (size_t i = 0; i < CHARACTERS; i++) {
        characters[i] = letters[(size_t)rand() % (i / 100 % 2 == 0 ? 3 : KINDS)];
        nb_buffer_puts(&text, characters[i]);
    }
    ck_assert_uint_lt(text.length, 3500);
    for (size_t i = 5; i <= CHARACTERS; i++) {
        ngram.length = 0;
        nb_buffer_puts(&ngram, "ngram:");
        for (size_t k = i - 5; k < i; k++)
            nb_buffer_puts(&ngram, characters[k]);
        ck_assert_int_eq(nb_bag_add(&want, &key, NB_FIELD_NGRAM, ngram.bytes, ngram.length), 0);
    }
    struct nb_tokenizing t = begin(&bag, &settings);
    ck_assert_int_eq(nb_bag_begin(&bag, 0, true), 0);
    ck_assert_int_eq(nb_derived_text(&t, NB_FIELD_BODY, text.bytes, text.length), 0);
    ck_assert_uint_eq(bag.size, want.size);
    ck_assert_uint_gt(bag.size, 300);
    for (size_t i = 0; i < bag.size; i++) {
        ck_assert(nb_string_same(bag.texts[i], want.texts[i]));
        ck_assert_uint_eq(bag.features[i].id, want.features[i].id);
        ck_assert_uint_eq(bag.features[i].count, want.features[i].count);
    }
    nb_buffer_deinit(&text);
    nb_buffer_deinit(&ngram);
    nb_bag_deinit(&bag);
    nb_bag_deinit(&want);
}
END_TEST

START_TEST(ngrams_end_after_3500_bytes)
{
    char text[6000];
    memset(text, 'x', sizeof text);
    struct nb_bag bag = {0};
    const struct nb_tokenizer_settings settings = {.fields = NGRAM | PAIR};
    struct nb_tokenizing t = begin(&bag, &settings);
    ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_SUBJECT, "subject:", text, 500), 0);
    ck_assert_uint_eq(ngrams(&bag), 496);
    ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text, sizeof text), 0);
    ck_assert_uint_eq(ngrams(&bag), 496 + 2996);
    ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text, sizeof text), 0);
    ck_assert_uint_eq(ngrams(&bag), 496 + 2996);
    /* A character is not cut: 3,500 bytes are 1,166 of these and two bytes. */
    struct nb_buffer euros = {0};
    for (int i = 0; i < 2000; i++)
        nb_buffer_puts(&euros, "€");
    t = begin(&bag, &settings);
    ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", euros.bytes, euros.length), 0);
    ck_assert_uint_eq(bag.size, 1);
    ck_assert_uint_eq(ngrams(&bag), 1162);
    nb_buffer_deinit(&euros);
    nb_bag_deinit(&bag);
}
END_TEST

START_TEST(the_budget_holds_for_all)
{
    static const char text[] = "Free Money http://a.bc Now É";
    const struct nb_tokenizer_settings settings = {.fields = ALL};
    struct nb_bag bag = {0};
    struct nb_tokenizing t = begin(&bag, &settings);
    ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text, strlen(text)), 0);
    size_t full = t.limits->tokens - t.tokens_left;
    for (size_t budget = 0; budget <= full; budget++) {
        t = begin(&bag, &settings);
        t.tokens_left = budget;
        ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text, strlen(text)), 0);
        uint64_t counted = 0;
        for (size_t i = 0; i < bag.size; i++)
            counted += bag.features[i].count;
        ck_assert_uint_eq(counted, budget);
        ck_assert_int_eq(bag.truncated, budget < full);
    }
    nb_bag_deinit(&bag);
}
END_TEST

/* As in test_text: an invisible character makes the other path read the same words. */
START_TEST(both_paths_derive_the_same)
{
    static const char alphabet[] = "aAbZz09_'.,:;!?-$ \n\t/";
    const struct nb_tokenizer_settings settings = {.fields = SUBJECT | CASE | PAIR};
    const unsigned seed = 31;
    printf("both_paths_derive_the_same: seed %u\n", seed);
    srand(seed);
    struct nb_bag bags[2] = {0};
    struct nb_buffer texts[2] = {0};
    struct nb_buffer lists[2] = {0};
    for (int round = 0; round < 4000; round++) {
        size_t budget = rand() % 3 == 0 ? (size_t)(rand() % 60) : 1000;
        int spread = 2 + rand() % 60;
        texts[0].length = texts[1].length = 0;
        for (int i = rand() % 300; i >= 0; i--) {
            int letter = rand() % 3 != 0 ? rand() % 4 : rand() % (int)(sizeof alphabet - 1);
            nb_buffer_append(&texts[0], alphabet + letter, 1);
            nb_buffer_puts(&texts[1], rand() % spread == 0 ? "\xE2\x80\x8B" : "");
            nb_buffer_append(&texts[1], alphabet + letter, 1);
        }
        for (int path = 0; path < 2; path++) {
            struct nb_tokenizing t = begin(&bags[path], &settings);
            t.tokens_left = budget;
            ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_SUBJECT, "subject:", texts[path].bytes,
                                              texts[path].length),
                             0);
            listing(&bags[path], ALL, &lists[path]);
        }
        ck_assert_str_eq(lists[0].bytes, lists[1].bytes);
        ck_assert_uint_eq(bags[0].positions, bags[1].positions);
        ck_assert_int_eq(bags[0].truncated, bags[1].truncated);
    }
    for (int path = 0; path < 2; path++) {
        nb_bag_deinit(&bags[path]);
        nb_buffer_deinit(&texts[path]);
        nb_buffer_deinit(&lists[path]);
    }
}
END_TEST

static const char *const hostile[] = {"@",
                                      "a@",
                                      "a@b.",
                                      "://",
                                      "a://",
                                      "w",
                                      "www.",
                                      "www.a",
                                      "http:/",
                                      ":",
                                      "http://@",
                                      "%41",
                                      "A",
                                      "É ",
                                      "A ",
                                      "a.",
                                      "x@x.x",
                                      "www.www.a ",
                                      "://a@",
                                      "é'",
                                      "\u202E",
                                      "\u202Ea",
                                      "\u202E\u202D",
                                      "\u202Ea\u202C",
                                      "\u202Ea\u202C ",
                                      "\u202Ea\n",
                                      "a\u0336",
                                      "\u0640",
                                      "发 ",
                                      "发  ",
                                      "ᴀ",
                                      "🎰",
                                      "👍\u200D",
                                      "ש\u05B8"};

static double seconds_for(const char *piece, size_t bytes)
{
    struct nb_buffer text = {0};
    while (text.length < bytes)
        nb_buffer_puts(&text, piece);
    double best = 1e9;
    struct nb_bag bag = {0};
    const struct nb_tokenizer_settings settings = {.fields = ALL};
    for (int i = 0; i < 3; i++) {
        struct nb_tokenizing t = begin(&bag, &settings);
        t.tokens_left = SIZE_MAX;
        uint64_t from = cpu_time();
        ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", text.bytes, text.length), 0);
        double seconds = (double)(cpu_time() - from) / 1e9;
        best = seconds < best ? seconds : best;
    }
    nb_bag_deinit(&bag);
    nb_buffer_deinit(&text);
    return best;
}

/* As in test_text: what is quadratic would take 256 times as long. */
START_TEST(time_is_linear)
{
    double small = seconds_for(hostile[_i], 1 << 16);
    double large = seconds_for(hostile[_i], 1 << 20);
    ck_assert_msg(large < 64 * small + 0.01, "case %d: %.4f s for 64 KiB, %.4f s for 1 MiB", _i,
                  small, large);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("derived");
    TCase *tcase = tcase_create("derived");
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, set_up, nb_text_teardown);
    tcase_add_loop_test(tcase, derives_each_case, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tcase, links_are_found_at_any_place);
    tcase_add_test(tcase, tokens_do_not_depend_on_what_is_derived);
    tcase_add_test(tcase, ngrams_are_five_characters_wherever_they_lie);
    tcase_add_test(tcase, ngrams_end_after_3500_bytes);
    tcase_add_test(tcase, the_budget_holds_for_all);
    tcase_add_test(tcase, both_paths_derive_the_same);
    tcase_add_loop_test(tcase, time_is_linear, 0, sizeof hostile / sizeof *hostile);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
