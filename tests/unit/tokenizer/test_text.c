/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/buffer.h"
#include "core/base/feature.h"
#include "tests/unit/run.h"
#include "tests/unit/tokenizer/cpu_time.h"
#include "tokenizer/document.h"
#include "tokenizer/text.h"

static struct nb_key key;
static const struct nb_tokenizer_settings body_only = {.fields = 1u << NB_FIELD_BODY};

static void set_up(void)
{
    const unsigned char bytes[NB_KEY_BYTES] = {7};
    nb_key_restore(&key, bytes);
    ck_assert_int_eq(nb_text_setup(), 0);
}

static void tokenize(struct nb_bag *bag, const char *text, size_t length, size_t tokens)
{
    struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    limits.tokens = tokens;
    const struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = text, .length = length};
    ck_assert_int_eq(nb_document_tokenize(&document, &key, &body_only, &limits, bag), 0);
}

/* "free|2 money|1", in order of first appearance, as the cases below write it. */
static void listing(const struct nb_bag *bag, struct nb_buffer *out)
{
    out->length = 0;
    for (size_t i = 0; i < bag->size; i++) {
        nb_buffer_puts(out, i == 0 ? "" : " ");
        nb_buffer_append(out, bag->texts[i].bytes, bag->texts[i].length);
        if (bag->features[i].count > 1)
            nb_buffer_printf(out, "|%u", bag->features[i].count);
    }
    nb_buffer_append(out, "", 1);
}

#define TEN(x) x x x x x x x x x x

static const struct {
    const char *text;
    const char *tokens; /* between blanks; "|n" behind one that is counted n times */
} cases[] = {
    {"", ""},
    {" \t\r\n\v\f\x01\x7F", ""},
    {"\xEF\xBB\xBF"
     "bom",
     "bom"},
    {"Free MONEY free", "free|2 money"},
    {"foo_bar _x __ a1b2", "foo_bar _x __ a1b2"},
    /* folding */
    {"STRASSE straße Straße", "strasse|3"},
    {"Ｆｒｅｅ ﬁnance ｆｉ", "free finance fi"},
    {"ПРИВЕТ Ёлка Ёлка", "привет ёлка|2"},
    {"ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ|2"},
    {"e\u0301te\u0301 été E\u0301TE\u0301", "été|3"},
    {"e\u0323\u0302 ê\u0323 e\u0302\u0323", "ệ|3"}, /* canonical order */
    {"fr\u200Bee so\u00ADft \u202Eevil\u202C a\u2060\u200D\uFE0Fb", "free soft evil ab"},
    {"\u200Bx\u200B !\u200B!", "x !!"},
    {"e\u200B\u0301", "é"}, /* also between a letter and its mark */
    {"a=\u0338b", "a ≠ b"},
    {"🅥🅘🅐🅖🅡🅐 🆅🅸🅰 🅩🆉", "viagra via zz"},
    {"½ ² ① Ⅳ ㎏", "1⁄2 2 1 iv kg"},
    {"ｶﾞ 각 \u1100\u1161\u11A8", "ガ 각|2"},
    {"İ K Å", "i\u0307 k å"},
    {"a\xC2\xA0"
     "b\u3000c\u2028d\xC2\x85"
     "e",
     "a b c d e"},
    /* words */
    {"don't don’t don‘t 'quoted' rock'n'roll", "don't|3 '|2 quoted rock'n'roll"},
    {"3.14 1,000 1,000.50 1.a a.1 a,b", "3.14 1,000 1,000.50 1|2 .|2 a|3 , b"},
    {"www.example.com. end.", "www.example.com .|2 end"},
    {"é.é é’é é,é é.1", "é.é é'é é|3 , . 1"},
    {"a..b a.'b ,, a.", "a|3 .. b|2 .|2 ' ,,"},
    {"key:value a;b re:x", "key :|2 value a ; b re x"},
    {"col·lecció ע״ב", "col·lecció ע״ב"},
    {"_.a a_.b", "_ .|2 a a_ b"},
    {"हिन्दी नमस्ते", "हिन्दी नमस्ते"},
    {"שָׁלוֹם", "שָׁלוֹם"},
    {"العَرَبِيَّة", "العَرَبِيَّة"},
    /* marks */
    {"!!! ! ?!?! ...", "!!! !|3 ?|2 ..."},
    {"$100 €5 100₽", "$ 100|2 € 5 ₽"},
    {"…x ....", "...|2 x"},
    {"http://a.b/c?d=1&e", "http : // a.b / c ? d = 1 & e"},
    {"😀😀😀 😀 💰x", "😀|4 💰 x"},
    {"!!!! !!!!! !! !!!é!!!!é", "!!!|4 !! é|2"},
    {"x==== ======== ¡¡¡¡ ¡¡¡¡¡", "x ===|2 ¡¡¡|2"},
    {"★★★★★ ►►►► ►►►", "★|5 ►►►|2"},
    {"a🎰🎰🎰b🎰🎰🎰🎰🎰!", "a 🎰|8 b !"},
    {"👍🏽👍🏽👍 👍🏿", "👍🏽|2 👍 👍🏿"},
    {"👩🏻‍❤️‍💋‍👨🏽 🏳️‍🌈🏳️‍🌈 🏴‍☠️",
     "👩🏻‍❤‍💋‍👨🏽 🏳‍🌈|2 🏴‍☠"},
    {"👍‍x 👍‍ 👍🏽‍", "👍|2 x 👍🏽"},
    {"1️⃣ ©©© 🇩🇪🇩🇪🇩🇪", "1⃣ ©|3 🇩🇪|3"},
    {"🇩🇪🇫🇷🇩🇪 🇩", "🇩🇪|2 🇫🇷 🇩"},
    {"♥️ ♥", "♥|2"},
    {"👨‍👩‍👧", "👨‍👩‍👧"},
    {"\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD"},
    {"\u0301", "\u0301"},
    {"“a” «b»", "“ a ” « b »"},
    /* scripts without spaces */
    {"免费赢取大奖", "免费 费赢 赢取 取大 大奖"},
    {"奖 お金", "奖 お金"},
    {"한국어 한", "한국 국어 한"},
    {"ที่นี่", "ที่นี่"},
    {"กกก", "กก|2"},
    {"Windows版 3月", "windows 版 3 月"},
    {"カー・ラ", "カー ・ ラ"},
    {"ក្នុង ພາສາ မြန်", "ក្នុ នុង ພາ າສ ສາ မြန်"},
    {"\U00020000\U00020001\U0002F800", "\U00020000\U00020001 \U00020001丽"},
    /* of Unicode 15.1, and a place for Han that has no character yet */
    {"\U0002EBF0\U0002EBF1\U0003FFF0", "\U0002EBF0\U0002EBF1 \U0002EBF1\U0003FFF0"},
    /* not UTF-8: windows-1252 */
    {"caf\xE9 na\xEFve \x93x\x94", "café naïve “ x ”"},
    {"\xC3", "ã"},
    {"a\xED\xA0\x80z", "aí € z"},
    {"\xC0\xAF", "à \u0304"},
    /* long */
    {TEN("abcd"), TEN("abcd")},
    {TEN("abcd") "e", "long:a:32"},
    {TEN("ABCDEFG"), "long:a:64"},
    {TEN("éèêü"), TEN("éèêü")},
    {TEN("éèêü") "é", "long:é:32"},
    {TEN("----") "-", "--------------------------------"},
    {TEN(TEN("----")) "-", "--------------------------------"},
    {"é" TEN(TEN("----")) "-é", "é|2 --------------------------------"},
    {TEN("-") " -----" TEN("-") " ------" TEN("-") " é------" TEN("-") "é",
     "---|2 ----------------|2 é|2"},
    {"é" TEN("►►►►") "é" TEN("►►") "é", "é|3 ►►►►►►►►►►►►►►►►►►►►►►►►►►►►►►►► ►►►►►►►►►►►►►►►►"},
    {TEN("💰💰💰💰") "💰", "💰|41"},
    {TEN("a.b.") TEN("a.b.") "c!", "long:a:64 !"},
    {TEN("1,2,") "3,", "long:1:32 ,"},
};

START_TEST(tokenizes_each_case)
{
    struct nb_bag bag = {0};
    struct nb_buffer got = {0};
    tokenize(&bag, cases[_i].text, strlen(cases[_i].text), 1000);
    listing(&bag, &got);
    ck_assert_msg(strcmp(got.bytes, cases[_i].tokens) == 0, "case %d, \"%s\": \"%s\", not \"%s\"",
                  _i, cases[_i].text, got.bytes, cases[_i].tokens);
    nb_buffer_deinit(&got);
    nb_bag_deinit(&bag);
}
END_TEST

static const struct {
    const char *text;
    const char *subject; /* its words, between blanks */
} subjects[] = {
    {"Subject: Free money\nbuy now", "subject:free subject:money"},
    {"SUBJECT:free", "subject:free"},
    {"From: a\nX-Name:\nsubject: é!\r\n\nbody", "subject:é subject:!"},
    {"Subject: one\nSubject: two\n", "subject:one"}, /* the first, as in a mail */
    {"Subject:\nfree", ""},
    {"Subject:", ""},
    {"Subject free\n", ""},
    {"Hello\nSubject: free\n", ""},       /* not at the beginning */
    {"From: a\n\nSubject: free\n", ""},   /* behind the header */
    {"From: a\n b\nSubject: free\n", ""}, /* folded lines are none of a header's here */
    {" Subject: free", ""},
};

/* With case, pairs or n-grams counted, a Subject at the beginning of a text is told apart; the
 * words of the body are the same with and without. */
START_TEST(a_text_may_begin_with_a_subject)
{
    const uint32_t tokens = 1u << NB_FIELD_BODY | 1u << NB_FIELD_SUBJECT;
    const struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    const char *text = subjects[_i].text;
    const struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = text, .length = strlen(text)};
    struct nb_bag body = {0};
    struct nb_bag both = {0};
    struct nb_buffer got = {0};
    struct nb_tokenizer_settings settings = {.fields = tokens};
    ck_assert_int_eq(nb_document_tokenize(&document, &key, &settings, &limits, &body), 0);
    settings.fields = tokens | 1u << NB_FIELD_PAIR;
    ck_assert_int_eq(nb_document_tokenize(&document, &key, &settings, &limits, &both), 0);
    size_t bodies = 0;
    for (size_t i = 0; i < both.size; i++) {
        enum nb_field field = nb_feature_field(both.features[i].id);
        if (field == NB_FIELD_SUBJECT) {
            nb_buffer_puts(&got, got.length == 0 ? "" : " ");
            nb_buffer_append(&got, both.texts[i].bytes, both.texts[i].length);
        } else if (field == NB_FIELD_BODY) {
            ck_assert_uint_lt(bodies, body.size);
            ck_assert_uint_eq(both.features[i].id, body.features[bodies].id);
            ck_assert_uint_eq(both.features[i].count, body.features[bodies++].count);
        }
    }
    nb_buffer_append(&got, "", 1);
    ck_assert_str_eq(got.bytes, subjects[_i].subject);
    ck_assert_uint_eq(bodies, body.size); /* and nothing else in a by-the-book model */
    nb_bag_deinit(&body);
    nb_bag_deinit(&both);
    nb_buffer_deinit(&got);
}
END_TEST

START_TEST(nul_bytes_separate)
{
    struct nb_bag bag = {0};
    tokenize(&bag, "a\0b\0\0", 5, 1000);
    ck_assert_uint_eq(bag.size, 2);
    nb_bag_deinit(&bag);
}
END_TEST

START_TEST(prefixes_and_fields)
{
    struct nb_bag bag = {0};
    const struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    struct nb_tokenizer_settings settings = {.fields =
                                                 1u << NB_FIELD_SUBJECT | 1u << NB_FIELD_HEADER};
    struct nb_tokenizing t = {&key, &settings,        &limits,
                              &bag, .tokens_left = 5, .work = NB_WORK_UNBOUNDED};
    struct nb_buffer got = {0};
    ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_SUBJECT, "subject:", "Free é 大", 11), 0);
    ck_assert_int_eq(nb_tokenize_text(&t, NB_FIELD_BODY, "", "not counted", 11), 0);
    ck_assert_int_eq(nb_tokenize_feature(&t, NB_FIELD_HEADER, "html:IMG", 8), 0);
    ck_assert_int_eq(nb_tokenize_feature(&t, NB_FIELD_URL, "url:x", 5), 0);
    ck_assert_uint_eq(t.tokens_left, 1);
    ck_assert(!bag.truncated);
    ck_assert_int_eq(nb_tokenize_feature(&t, NB_FIELD_HEADER, "html:IMG", 8), 0);
    ck_assert(!bag.truncated);
    ck_assert_int_eq(nb_tokenize_feature(&t, NB_FIELD_HEADER, "html:IMG", 8), 0);
    ck_assert(bag.truncated);
    listing(&bag, &got);
    ck_assert_str_eq(got.bytes, "subject:free subject:é subject:大 html:IMG|2");
    ck_assert_int_eq((int)nb_feature_field(bag.features[0].id), NB_FIELD_SUBJECT);
    ck_assert_uint_eq(bag.features[0].id,
                      nb_feature_id(NB_FIELD_SUBJECT, nb_feature_hash(&key, "subject:free", 12)));
    nb_buffer_deinit(&got);
    nb_bag_deinit(&bag);
}
END_TEST

/* The budget is exact, and said to be hit only when something was left out. */
START_TEST(the_budget_is_exact)
{
    static const char *const texts[] = {"a b c d e  ", "é ü ö ä ß  ", "aé! b c", "大大大大大大"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t budget = 0; budget <= 6; budget++) {
            struct nb_bag bag = {0};
            tokenize(&bag, texts[i], strlen(texts[i]), budget);
            size_t full = i == 2 ? 4 : 5;
            ck_assert_uint_eq(bag.positions, budget < full ? budget : full);
            ck_assert_int_eq(bag.truncated, budget < full);
            nb_bag_deinit(&bag);
        }
}
END_TEST

static void assert_same_bag(const struct nb_bag *a, const struct nb_bag *b, const char *what)
{
    struct nb_buffer one = {0};
    struct nb_buffer other = {0};
    listing(a, &one);
    listing(b, &other);
    ck_assert_msg(strcmp(one.bytes, other.bytes) == 0, "%s:\n%s\n%s", what, one.bytes, other.bytes);
    nb_buffer_deinit(&one);
    nb_buffer_deinit(&other);
}

static void append_character(struct nb_buffer *out, int32_t c)
{
    utf8proc_uint8_t bytes[4];
    nb_buffer_append(out, bytes, (size_t)utf8proc_encode_char(c, bytes));
}

/* ASCII takes the fast path; an invisible character makes the other path read the same word. */
START_TEST(both_paths_agree)
{
    static const char alphabet[] = "aAbZz09_'.,:;!?-$ \n\t/";
    const unsigned seed = 29;
    printf("both_paths_agree: seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 4000; round++) {
        struct nb_bag fast = {0};
        struct nb_bag slow = {0};
        struct nb_buffer plain = {0};
        struct nb_buffer dotted = {0};
        int spread = 2 + rand() % 60;
        size_t budget = rand() % 4 != 0 ? 1000 : (size_t)(rand() % 200);
        for (int i = rand() % (round % 8 == 0 ? 800 : 200); i >= 0; i--) {
            int letter = rand() % 3 != 0 ? rand() % 4 : rand() % (int)(sizeof alphabet - 1);
            nb_buffer_append(&plain, alphabet + letter, 1);
            if (rand() % spread == 0)
                append_character(&dotted, 0x200B);
            nb_buffer_append(&dotted, alphabet + letter, 1);
        }
        tokenize(&fast, plain.bytes, plain.length, budget);
        tokenize(&slow, dotted.bytes, dotted.length, budget);
        ck_assert_int_eq(fast.truncated, slow.truncated);
        ck_assert_uint_eq(fast.positions, slow.positions);
        assert_same_bag(&fast, &slow, "fast and slow");
        nb_buffer_deinit(&plain);
        nb_buffer_deinit(&dotted);
        nb_bag_deinit(&fast);
        nb_bag_deinit(&slow);
    }
}
END_TEST

static int32_t any_character(void)
{
    static const int32_t interesting[] = {
        'e',    'E',    ' ',    '.',    '\'',   'S',   's',   '1',    0x300,  0x301,  0x323,
        0x327,  0x345,  0x338,  0x200B, 0xAD,   0xDF,  0xE9,  0x1E9B, 0x1100, 0x1161, 0x11A8,
        0xAC00, 0xFF76, 0xFF9E, 0xFB01, 0xFDFA, 0x3B1, 0x3C3, 0x1F80, 0x915,  0x93C,  0x94D,
        0xE01,  0xE33,  0xE49,  0x2019, 0x130,  0x131, 0xA8,  0x5D0,  0x5B0,  0x5C1,  0x4E00};
    for (;;) {
        int32_t c = rand() % 3 != 0
                        ? interesting[rand() % (int)(sizeof interesting / sizeof *interesting)]
                        : rand() % (rand() % 2 == 0 ? 0x3000 : 0x110000);
        /* NFKC_Casefold is stable only for what Unicode has assigned. */
        if (c != 0 && utf8proc_codepoint_valid(c) && utf8proc_category(c) != UTF8PROC_CATEGORY_CN)
            return c;
    }
}

/* A text and what utf8proc makes of it as a whole have the same tokens: the table, the segments and
 * their borders change nothing. */
START_TEST(folding_agrees_with_utf8proc)
{
    const unsigned seed = 15;
    printf("folding_agrees_with_utf8proc: seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 10000; round++) {
        struct nb_bag ours = {0};
        struct nb_bag theirs = {0};
        struct nb_buffer text = {0};
        for (int i = rand() % 16; i >= 0; i--)
            append_character(&text, any_character());
        nb_buffer_append(&text, "", 1);
        utf8proc_uint8_t *folded = utf8proc_NFKC_Casefold((const utf8proc_uint8_t *)text.bytes);
        ck_assert_ptr_nonnull(folded);
        tokenize(&ours, text.bytes, text.length - 1, 1000);
        tokenize(&theirs, (const char *)folded, strlen((const char *)folded), 1000);
        assert_same_bag(&ours, &theirs, text.bytes);
        free(folded);
        nb_buffer_deinit(&text);
        nb_bag_deinit(&ours);
        nb_bag_deinit(&theirs);
    }
}
END_TEST

/* Any bytes give tokens that are valid UTF-8, of at most 40 characters, and the same ones again. */
START_TEST(any_bytes_give_valid_tokens)
{
    const unsigned seed = 3629;
    printf("any_bytes_give_valid_tokens: seed %u\n", seed);
    srand(seed);
    struct nb_bag again = {0};
    for (int round = 0; round < 5000; round++) {
        struct nb_bag bag = {0};
        char bytes[200];
        int high = rand() % 256;
        size_t length = (size_t)(rand() % (int)sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(rand() % 4 == 0 ? high + rand() % 16 : rand());
        tokenize(&bag, bytes, length, 1000);
        tokenize(&again, bytes, length, 1000);
        assert_same_bag(&bag, &again, "the same bytes");
        uint64_t positions = 0;
        for (size_t i = 0; i < bag.size; i++) {
            positions += bag.features[i].count;
            size_t characters = 0;
            utf8proc_ssize_t left = (utf8proc_ssize_t)bag.texts[i].length;
            const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)bag.texts[i].bytes;
            for (int32_t c; left > 0; characters++) {
                utf8proc_ssize_t n = utf8proc_iterate(p, left, &c);
                ck_assert_int_gt((int)n, 0);
                p += n;
                left -= n;
            }
            ck_assert_uint_ge(characters, 1);
            ck_assert_uint_le(characters, 40);
        }
        ck_assert_uint_eq(positions, bag.positions);
        nb_bag_deinit(&bag);
    }
    nb_bag_deinit(&again);
}
END_TEST

/* Hostile texts, each made by repeating a piece. */
static const char *const hostile[] = {"\u0301",
                                      "e\u0301",
                                      "\u0323\u0301",
                                      "a",
                                      "A.",
                                      "a1_",
                                      "é",
                                      "aé",
                                      "!",
                                      "!?",
                                      "'",
                                      "a'",
                                      "\u2019é",
                                      "大",
                                      "ก\u0E49",
                                      "\u0E49",
                                      "大a",
                                      "я大가ก1!",
                                      "\uFDFA",
                                      "\uFDFA\u0301",
                                      "\u200B",
                                      "a\u200B",
                                      "\u1100\u1161\u11A8",
                                      "\u1161",
                                      "\U0001F1E9",
                                      "\U0001F468\u200D",
                                      "\xFF",
                                      "\xE2\x82",
                                      "\xF0",
                                      " ",
                                      "a ",
                                      "é ",
                                      "\u00A8",
                                      "\u0345",
                                      "\U0002F800",
                                      "\U000E0001"};

static double seconds_for(const char *piece, size_t bytes)
{
    struct nb_buffer text = {0};
    while (text.length < bytes)
        nb_buffer_puts(&text, piece);
    double best = 1e9;
    struct nb_bag bag = {0};
    for (int i = 0; i < 3; i++) {
        uint64_t begin = cpu_time();
        tokenize(&bag, text.bytes, text.length, SIZE_MAX);
        double seconds = (double)(cpu_time() - begin) / 1e9;
        best = seconds < best ? seconds : best;
    }
    ck_assert(!bag.truncated);
    nb_bag_deinit(&bag);
    nb_buffer_deinit(&text);
    return best;
}

/* Sixteen times the text takes some sixteen times as long. What is quadratic would take 256 times;
 * the bounds leave room for a busy machine and for sanitizers. */
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
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("text");
    tcase_set_timeout(tcase, 300);
    tcase_add_unchecked_fixture(tcase, set_up, nb_text_teardown);
    tcase_add_loop_test(tcase, tokenizes_each_case, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tcase, a_text_may_begin_with_a_subject, 0,
                        sizeof subjects / sizeof *subjects);
    tcase_add_test(tcase, nul_bytes_separate);
    tcase_add_test(tcase, prefixes_and_fields);
    tcase_add_test(tcase, the_budget_is_exact);
    tcase_add_test(tcase, both_paths_agree);
    tcase_add_test(tcase, folding_agrees_with_utf8proc);
    tcase_add_test(tcase, any_bytes_give_valid_tokens);
    tcase_add_loop_test(tcase, time_is_linear, 0, sizeof hostile / sizeof *hostile);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
