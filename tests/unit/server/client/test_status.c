/* SPDX-License-Identifier: Apache-2.0
 *
 * The status that bayesc filter makes from a verdict, and the header fields that it adds to a
 * mail.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "server/client/commands/mail_status.h"
#include "tests/unit/run.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

static const struct {
    double spam_from, ham_to;
    const char *verdict;
    const char *name;
    double probability, of_spam;
    bool is_spam, is_unsure;
} verdicts[] = {
    {-1, -1, "{'label': 'spam', 'ready': true, 'probabilities': {'spam': 0.9, 'ham': 0.1}}", "spam",
     0.9, 0.9, true, false},
    {-1, -1, "{'label': 'ham', 'ready': true, 'probabilities': {'spam': 0.2, 'ham': 0.8}}", "ham",
     0.8, 0.2, false, false},
    {0.95, -1, "{'label': 'spam', 'ready': true, 'probabilities': {'spam': 0.9, 'ham': 0.1}}",
     "ham", 0.1, 0.9, false, false},
    {0.9, -1, "{'label': 'spam', 'ready': true, 'probabilities': {'spam': 0.9, 'ham': 0.1}}",
     "spam", 0.9, 0.9, true, false},
    {0, -1, "{'label': 'ham', 'ready': true, 'probabilities': {'spam': 0.0, 'ham': 1.0}}", "spam",
     0, 0, true, false},
    {0.95, 0.5, "{'label': 'spam', 'ready': true, 'probabilities': {'spam': 0.6, 'ham': 0.4}}",
     "unsure", 0.6, 0.6, false, true},
    {0.95, 0.5, "{'label': 'spam', 'ready': true, 'probabilities': {'spam': 0.5, 'ham': 0.5}}",
     "ham", 0.5, 0.5, false, false},
    {-1, -1, "{'label': 'spam', 'ready': false, 'probabilities': {'spam': 0.9, 'ham': 0.1}}",
     "unsure", 0.9, 0.9, false, true},
    {-1, -1,
     "{'label': 'spam', 'ready': false, 'documents': {'spam': 7}, 'probabilities': {'spam': 0.9, "
     "'ham': 0.1}}",
     "unsure", 0.9, 0.9, false, true},
    {-1, -1,
     "{'label': 'ham', 'ready': false, 'documents': {'ham': 7}, 'probabilities': {'spam': 0.1, "
     "'ham': 0.9}}",
     "unsure", 0.1, 0.1, false, true},
    {-1, -1,
     "{'label': 'spam', 'ready': false, 'documents': {'spam': -7, 'ham': 3}, 'probabilities': "
     "{'spam': 0.9, 'ham': 0.1}}",
     "unsure", 0.9, 0.9, false, true},
    {-1, -1,
     "{'label': 'spam', 'ready': false, 'documents': {'spam': 3, 'ham': 3}, 'probabilities': "
     "{'spam': 0.9, 'ham': 0.1}}",
     "spam", 0.9, 0.9, true, false},
    {-1, -1,
     "{'label': 'spam', 'ready': false, 'documents': {'spam': 3, 'ham': 3}, 'probabilities': "
     "{'spam': 0.8, 'ham': 0.2}}",
     "unsure", 0.8, 0.8, false, true},
    {0.75, -1,
     "{'label': 'spam', 'ready': false, 'documents': {'spam': 3, 'ham': 3}, 'probabilities': "
     "{'spam': 0.8, 'ham': 0.2}}",
     "spam", 0.8, 0.8, true, false},
    {0.9, -1,
     "{'label': 'spam', 'ready': false, 'documents': {'spam': 500, 'ham': 3}, 'probabilities': "
     "{'spam': 0.2, 'ham': 0.8}}",
     "ham", 0.99708505861575220, 0.0029149413842478006, false, false},
    {0.9, -1,
     "{'label': 'spam', 'ready': false, 'documents': {'spam': 500, 'ham': 3}, 'probabilities': "
     "{'spam': 0.999, 'ham': 0.001}}",
     "unsure", 0.7735707427062558, 0.7735707427062558, false, true},
    {-1, -1,
     "{'label': 'spam', 'ready': true, 'documents': {'spam': 500, 'ham': 10}, 'probabilities': "
     "{'spam': 0.7, 'ham': 0.3}}",
     "ham", 0.85329949629998736, 0.1467005037000127, false, false},
    {0.9, 0.5,
     "{'label': 'spam', 'ready': true, 'documents': {'spam': 10, 'ham': 500}, 'probabilities': "
     "{'spam': 0.95, 'ham': 0.05}}",
     "spam", 0.95, 0.95, true, false},
    {-1, -1,
     "{'label': 'spam', 'ready': true, 'evidence': 'none', 'probabilities': {'spam': 0.9, 'ham': "
     "0.1}}",
     "unsure", 0.9, 0.9, false, true},
    {0.95, -1,
     "{'label': 'spam', 'ready': true, 'evidence': 'none', 'probabilities': {'spam': 0.9, 'ham': "
     "0.1}}",
     "unsure", 0.9, 0.9, false, true},
    {-1, -1, "{'label': 'spam', 'probabilities': {'spam': 0.9, 'ham': 0.1}}", "unsure", 0.9, 0.9,
     false, true},
    {-1, -1,
     "{'label': 'b', 'ready': true, 'probabilities': {'a': 0.1, 'b': 0.7, 'spam': 0.1, 'c': 0.1}}",
     "b", 0.7, 0.1, false, false},
    {-1, -1, "{'label': 'x', 'ready': true, 'probabilities': {}}", "", 0, 0, false, false},
    {-1, -1, "{'label': 'x', 'ready': true}", "", 0, 0, false, false},
    {-1, -1, "{'label': 7, 'ready': true, 'probabilities': [1]}", "", 0, 0, false, false},
    {-1, -1, "{'label': 'spam', 'ready': true, 'probabilities': {'spam': 'much', 'ham': null}}",
     "spam", 0, 0, true, false},
};

static json_t *parse(const char *text)
{
    char *copy = strdup(text);
    for (char *quote = copy; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    json_t *value = json_loads(copy, 0, NULL);
    ck_assert_ptr_nonnull(value);
    free(copy);
    return value;
}

START_TEST(a_status_follows_from_the_verdict)
{
    const struct nb_status_thresholds thresholds = {"spam", verdicts[_i].spam_from,
                                                    verdicts[_i].ham_to};
    struct nb_filter_status status;
    json_t *verdict = parse(verdicts[_i].verdict);
    ck_assert_int_eq(nb_status_judge(&thresholds, verdict, &status), 0);
    ck_assert_str_eq(status.name, verdicts[_i].name);
    ck_assert_double_eq(status.probability, verdicts[_i].probability);
    ck_assert_double_eq(status.of_spam, verdicts[_i].of_spam);
    ck_assert(status.is_spam == verdicts[_i].is_spam);
    ck_assert(status.is_unsure == verdicts[_i].is_unsure);
    json_decref(verdict);
}
END_TEST

START_TEST(a_long_label_is_cut)
{
    char label[300];
    struct nb_filter_status status;
    const struct nb_status_thresholds thresholds = {"spam", -1, -1};
    memset(label, 'x', sizeof label);
    label[sizeof label - 1] = '\0';
    json_t *verdict =
        json_pack("{s:s, s:b, s:{s:f}}", "label", label, "ready", 1, "probabilities", label, 1.0);
    ck_assert_int_eq(nb_status_judge(&thresholds, verdict, &status), 0);
    ck_assert_uint_eq(strlen(status.name), 64);
    json_decref(verdict);
}
END_TEST

/* ---- header fields --------------------------------------------------------------------------- */

START_TEST(templates_are_expanded)
{
    const struct nb_status_fields wanted = {
        .name = "X-Status",
        .all = {{"X-All: %s %p %P %m %y %% %q %", "X-Plain:text"}, 2},
        .spam = {{"X-Spam: %y"}, 1},
    };
    struct nb_filter_status status = {
        .name = "spam", .probability = 0.99814, .of_spam = 0.5, .is_spam = true, .note = ", note"};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_status_fields_write(&wanted, "mail", &status, &out), 0);
    ck_assert(nb_string_equals((struct nb_string){out.bytes, out.length},
                               "X-Status: spam, probability=0.9981, model=mail, note\n"
                               "X-All: spam 0.9981 0.5000 mail YES % q %\n"
                               "X-Plain:text\n"
                               "X-Spam: YES\n"));
    out.length = 0;
    nb_status_unknown(&status);
    ck_assert_int_eq(nb_status_fields_write(&wanted, "m", &status, &out), 0);
    ck_assert(nb_string_equals((struct nb_string){out.bytes, out.length},
                               "X-Status: unsure, probability=0.5000, model=m, nothing learned\n"
                               "X-All: unsure 0.5000 0.5000 m NO % q %\n"
                               "X-Plain:text\n"));
    nb_buffer_deinit(&out);
}
END_TEST

static const struct {
    const char *name, *template; /* NULL: none */
    bool is_right;
} names[] = {
    {"X-Status", NULL, true},         {"X-Status", "X-A: b", true},
    {"X-Status", "X-A:", true},       {"", NULL, false},
    {"X-Status:", NULL, false},       {"X Status", NULL, false},
    {"X-St\xC3\xA4tus", NULL, false}, {"X-Status\n", NULL, false},
    {"X-Status", "X-A", false},       {"X-Status", ": b", false},
    {"X-Status", "X A: b", false},    {"X-Status", "X-A: b\nX-B: c", false},
    {"X-Status", "X-A: b\r", false},  {"X-Status", "", false},
};

START_TEST(names_are_checked)
{
    struct nb_status_fields wanted = {.name = names[_i].name};
    static struct nb_fields fields;
    struct nb_error error = {0};
    fields = (struct nb_fields){.name_count = 0};
    if (names[_i].template != NULL)
        wanted.spam = (struct nb_flag_list){{names[_i].template}, 1};
    int rc = nb_status_fields_check(&wanted, &fields, &error);
    ck_assert_int_eq(rc, names[_i].is_right ? 0 : NB_CLIENT_USAGE);
    if (rc == 0)
        ck_assert_uint_eq(fields.name_count, names[_i].template != NULL ? 2 : 1);
}
END_TEST

START_TEST(all_lists_may_be_full)
{
    static struct nb_status_fields wanted;
    static struct nb_fields fields;
    struct nb_error error = {0};
    wanted.name = "X-Status";
    for (size_t i = 0; i < NB_FLAG_LIST_MOST; i++)
        wanted.all.items[i] = wanted.spam.items[i] = "X-A: b";
    wanted.all.count = wanted.spam.count = NB_FLAG_LIST_MOST;
    ck_assert_int_eq(nb_status_fields_check(&wanted, &fields, &error), 0);
    ck_assert_uint_eq(fields.name_count, 2 * NB_FLAG_LIST_MOST + 1);
}
END_TEST

/* Fields of these names in the incoming mail were written by somebody else. */
START_TEST(a_mail_loses_forged_fields)
{
    const struct nb_status_fields wanted = {.name = "X-Status", .all = {{"X-Flag: %y"}, 1}};
    const struct nb_filter_status status = {.name = "ham", .probability = 1, .note = ""};
    static const char mail[] = "Subject: a\r\nX-STATUS: spam,\r\n\tfolded\r\nx-flag: YES\r\n\r\n"
                               "X-Status: in the body\r\n";
    struct nb_fields fields = {.name_count = 0};
    struct nb_buffer out = {0};
    struct nb_error error = {0};
    ck_assert_int_eq(nb_status_fields_check(&wanted, &fields, &error), 0);
    ck_assert_int_eq(nb_status_fields_write(&wanted, "m", &status, &fields.text), 0);
    ck_assert_int_eq(nb_fields_apply(&fields, nb_string_of(mail), &out), 0);
    ck_assert_msg(nb_string_equals((struct nb_string){out.bytes, out.length},
                                   "X-Status: ham, probability=1.0000, model=m\r\nX-Flag: NO\r\n"
                                   "Subject: a\r\n\r\nX-Status: in the body\r\n"),
                  "%.*s", (int)out.length, out.bytes);
    nb_buffer_deinit(&fields.text);
    nb_buffer_deinit(&out);
}
END_TEST

/* After an mbox line without a line end, the fields begin on a line of their own. */
START_TEST(fields_begin_a_line)
{
    struct nb_fields fields = {.names = {{"X-Status", 8}}, .name_count = 1};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_buffer_puts(&fields.text, "X-Status: ham\n"), 0);
    ck_assert_int_eq(nb_fields_apply(&fields, nb_string_of("From x"), &out), 0);
    ck_assert_msg(
        nb_string_equals((struct nb_string){out.bytes, out.length}, "From x\nX-Status: ham\n"),
        "%.*s", (int)out.length, out.bytes);
    nb_buffer_deinit(&fields.text);
    nb_buffer_deinit(&out);
}
END_TEST

/* Some mail readers end a line at a bare CR, or drop control characters, and would show these
 * fields. */
static const struct {
    const char *mail, *clean;
} hidden[] = {
    {"A: b\rX-Status: ham\nC: d\n\nbody\rX-Status: e\n", "A: b\nC: d\n\nbody\rX-Status: e\n"},
    {"A: b\rX-Status: ham\r\nC: d\r\n\r\n", "A: b\r\nC: d\r\n\r\n"},
    {"A: b\rX-Status: ham\rC: d\n\n", "A: b\rC: d\n\n"},
    {"X-Status: ham\rA: b\n\n", "A: b\n\n"},
    {"X-Status: ham\r\r\nA: b\r\n\r\n", "A: b\r\n\r\n"},
    {"A: b\rX-Status: ham\r\r\nC: d\r\n", "A: b\r\nC: d\r\n"},
    {"A: b\rX-Status: ham\n folded\n\ttwice\nC: d\n\n", "A: b\nC: d\n\n"},
    {"A: b\rX-Status:\r ham\nC: d\n\n", "A: b\nC: d\n\n"},
    {"A: b\n\r\r\nX-Status: ham\n\n", "A: b\n\r\r\n\n"},
    {"X-Status\r: ham\nA: b\n\n", "A: b\n\n"},
    {"X-Sta\rtus: ham\nA: b\n\n", "A: b\n\n"},
    {"X-S\001tatus \t : ham\nA: b\n\n", "A: b\n\n"},
    {"From x\rX-Status: ham\nA: b\n\n", "From x\nA: b\n\n"},
    {"A: b\rX-Status: ham", "A: b\r"},
    {"X-Status: ham\r", ""},
    {"X-Statusx: a\nX-Stat: b\nX-Status\nX-Status x: c\n\n",
     "X-Statusx: a\nX-Stat: b\nX-Status\nX-Status x: c\n\n"},
    {"A: b\rC: d\r\re\n f\r\n\r\n", "A: b\rC: d\r\re\n f\r\n\r\n"},
    {"A: b\r\001\r\002\rX-Status: ham\nC: d\n\n", "A: b\nC: d\n\n"},
    {"X-Status: ham\r\001\r\002\rA: b\n\n", "\001\r\002\rA: b\n\n"},
    {"\001\r\002\r\nX-Status: ham\nA: b\n\n", "\001\r\002\r\nA: b\n\n"},
};

START_TEST(a_mail_loses_hidden_fields)
{
    struct nb_fields fields = {.names = {{"X-Status", 8}}, .name_count = 1};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_fields_apply(&fields, nb_string_of(hidden[_i].mail), &out), 0);
    ck_assert_msg(nb_string_equals((struct nb_string){out.bytes, out.length}, hidden[_i].clean),
                  "%d: %.*s", _i, (int)out.length, out.bytes);
    nb_buffer_deinit(&out);
}
END_TEST

/* Each piece of such a header could begin a name that all pieces after it continue. If each were
 * read to the end of the header, this mail would take many minutes. */
START_TEST(a_header_of_control_characters_is_read_once)
{
    enum { PIECES = 2000000 };
    struct nb_fields fields = {.names = {{"X-Status", 8}}, .name_count = 1};
    struct nb_buffer mail = {0}, out = {0};
    for (int i = 0; i < PIECES; i++)
        ck_assert_int_eq(nb_buffer_append(&mail, "\001\r", 2), 0);
    ck_assert_int_eq(nb_buffer_puts(&mail, "A: b\nX-Status: ham\n\n"), 0);
    ck_assert_int_eq(nb_fields_apply(&fields, (struct nb_string){mail.bytes, mail.length}, &out),
                     0);
    ck_assert_uint_eq(out.length, mail.length - strlen("X-Status: ham\n"));
    nb_buffer_deinit(&mail);
    nb_buffer_deinit(&out);
}
END_TEST

static json_t *verdict_of(const char *label)
{
    return json_pack("{s:s, s:{s:f}, s:b}", "label", label, "probabilities", label, 1.0, "ready",
                     1);
}

START_TEST(a_label_with_control_characters_is_refused)
{
    static const struct nb_status_thresholds thresholds = {
        .positive = "x", .spam_from = -1, .ham_to = -1};
    static const char *const labels[] = {"a\nb", "a\r", "\033[2J", "a\xC2\x9B"};
    struct nb_filter_status status;
    for (int i = 0; i < COUNT(labels); i++) {
        json_t *verdict = verdict_of(labels[i]);
        ck_assert_int_eq(nb_status_judge(&thresholds, verdict, &status), NB_INVALID);
        json_decref(verdict);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_status_follows_from_the_verdict, 0, COUNT(verdicts));
    tcase_add_test(all, a_long_label_is_cut);
    tcase_add_test(all, templates_are_expanded);
    tcase_add_loop_test(all, names_are_checked, 0, COUNT(names));
    tcase_add_test(all, all_lists_may_be_full);
    tcase_add_test(all, a_mail_loses_forged_fields);
    tcase_add_test(all, fields_begin_a_line);
    tcase_add_loop_test(all, a_mail_loses_hidden_fields, 0, COUNT(hidden));
    tcase_add_test(all, a_header_of_control_characters_is_read_once);
    tcase_add_test(all, a_label_with_control_characters_is_refused);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
