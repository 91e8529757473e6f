/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies to mail filters: the thresholds of [filter] are compared with the probability that the
 * engine itself gives for the same mail.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/base/metrics.h"
#include "server/http/http_answer.h"
#include "server/http/server.h"
#include "server/mail/filter.h"
#include "server/mail/filter_options.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])
#define GTUBE "JS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"

static struct nb_config config;
static const char models[] = "*"; /* names of the models that the client may use */

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void set(const char *key, const char *value)
{
    struct nb_error error = {0};
    int rc = nb_config_set(&config, "filter", key, value, "test", &error);
    ck_assert_msg(rc == 0, "%s = %s: %s", key, value, error.text);
}

static void setup_config(void)
{
    struct nb_error error = {0};
    ck_assert_msg(nb_config_init(&config, &error) == 0, "%s", error.text);
}

static void teardown_config(void)
{
    nb_config_deinit(&config);
}

/* ---- the mail -------------------------------------------------------------------------------- */

static const struct {
    const char *body, *mail;
} mails[] = {
    {"Subject: a\n\nb\n", "Subject: a\n\nb\n"},
    {"From a@b Fri Nov 20\nSubject: a\n\nb", "Subject: a\n\nb"},
    {"From a@b\r\nSubject: a\r\n\r\nb", "Subject: a\r\n\r\nb"},
    {"From a\nX-Envelope-From: <a>\nX-Envelope-To: b, c\nReceived: x\n\nd", "Received: x\n\nd"},
    {"From a\r\nX-Envelope-From: <a>\r\nX-Envelope-To: b\r\n\r\nd", "\r\nd"},
    {"From a\nx-envelope-to: b\nSubject: a\n", "Subject: a\n"},
    /* Without the line "From ", which Exim writes before them, these fields belong to the mail. */
    {"X-Envelope-From: <a>\nX-Envelope-To: b\n\nc", "X-Envelope-From: <a>\nX-Envelope-To: b\n\nc"},
    {"From a\nSubject: a\nX-Envelope-To: b\n\nc", "Subject: a\nX-Envelope-To: b\n\nc"},
    /* Only one such line is removed: the sender wrote the second one. */
    {"From a\nFrom b\nc", "From b\nc"},
    {"From: a@b\n\nc", "From: a@b\n\nc"},
    {"From", "From"},
    {"From a without an end", ""},
    {"From a\nX-Envelope-From: cut", ""},
    {"", ""},
};

START_TEST(finds_each_mail)
{
    struct nb_string mail = nb_filter_mail(str(mails[_i].body));
    ck_assert_msg(mail.length == strlen(mails[_i].mail) &&
                      memcmp(mail.bytes, mails[_i].mail, mail.length) == 0,
                  "case %d: \"%.*s\"", _i, (int)mail.length, mail.bytes);
}
END_TEST

static const struct {
    const char *mail, *message_id;
} message_ids[] = {
    {"Message-ID: <a@b>\n\nc", "a@b"},
    {"message-id:a@b\n\nc", "a@b"},
    {"Subject: x\r\nMessage-Id:\r\n <a@b> \r\nFrom: c\r\n\r\nd", "a@b"},
    {"Message-ID: <a\n\tb>\n\nc", "a b"},
    {"Message-ID: <a\x01\x7f\r b>\n\nc", "a   b"},
    {"Message-ID: <first>\nMessage-ID: <second>\n\nc", "first"},
    {"Message-ID: <open\n\nc", "<open"},
    {"Message-ID: <>\n\nc", ""},
    {"Subject: a\n\nMessage-ID: <of the body>\n", ""},
    {"", ""},
};

START_TEST(reads_each_message_id)
{
    char message_id[NB_FILTER_FIELD];
    nb_filter_message_id(&config, str(message_ids[_i].mail), message_id);
    ck_assert_str_eq(message_id, message_ids[_i].message_id);
}
END_TEST

/* ---- the model ------------------------------------------------------------------------------- */

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
    const char *user_model, *user, *model; /* NULL: refused */
} users[] = {
    {"", "bob@example.org", "mail"},
    {"", "", "mail"},
    {"mail-%u", "", "mail"},
    {"mail-%u", "<>", "mail"},
    {"mail-%u", " \t", "mail"},
    {"mail-%u", "bob@example.org", "mail-bob@example.org"},
    {"mail-%u", " <Bob+Lists@Example.ORG>\t", "mail-bob+lists@example.org"},
    {"%u", "bob", "bob"},
    {"Users.%u.Mail", "BOB", "Users.bob.Mail"},
    {"mail-%u", "bob/../carol@example.org", NULL},
    {"mail-%u", "bob carol", NULL},
    {"mail-%u", "<bob", NULL},
    {"mail-%u",
     "b\xC3\xB6"
     "b",
     NULL},
    {"mail-%u", "%u", NULL},
    {"mail-%u", "%s%n", NULL},
    {"%u", "-bob", NULL},
    {"%u", HUNDRED TEN TEN "01234567", HUNDRED TEN TEN "01234567"},
    {"%u", HUNDRED TEN TEN "012345678", NULL},
    {"%u-mail", HUNDRED TEN TEN "012", HUNDRED TEN TEN "012-mail"},
    {"%u-mail", HUNDRED TEN TEN "0123", NULL},
    {"mail-%u", HUNDRED HUNDRED HUNDRED HUNDRED, NULL},
};

START_TEST(makes_each_name_of_a_model)
{
    char model[NB_FILTER_MODEL] = "untouched";
    struct nb_error error = {0};
    if (users[_i].user_model[0] != '\0')
        set("user_model", users[_i].user_model);
    int rc = nb_filter_model(&config, str(users[_i].user), model, &error);
    if (users[_i].model != NULL) {
        ck_assert_msg(rc == 0, "case %d: %s", _i, error.text);
        ck_assert_str_eq(model, users[_i].model);
        return;
    }
    ck_assert_int_eq(rc, NB_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "user_model"));
}
END_TEST

static const struct {
    const char *user_parent, *user, *model; /* NULL: refused */
} parents[] = {
    {"mail", "bob@example.org", "mail"},
    {"users", "bob", "users"},
    {"users", "", "users"},
    {"mail-%d", "bob@example.org", "mail-example.org"},
    {"mail-%d", "<Bob@Example.ORG>", "mail-example.org"},
    {"mail-%d", "\"a@b\"@example.net", "mail-example.net"},
    {"%d.all", "bob@example.org", "example.org.all"},
    {"mail-%d", "bob", "common"},
    {"mail-%d", "bob@", "common"},
    {"mail-%d", "", "common"},
    {"mail-%d", "bob@a/b", NULL},
    {"mail/%d", "bob@example.org", NULL},
    {"mail-%d", "bob@" HUNDRED HUNDRED, NULL},
};

START_TEST(makes_each_name_of_a_parent)
{
    char model[NB_FILTER_MODEL] = "untouched";
    struct nb_error error = {0};
    set("model", "common");
    set("user_parent", parents[_i].user_parent);
    int rc = nb_filter_parent(&config, str(parents[_i].user), model, &error);
    if (parents[_i].model == NULL) {
        ck_assert_int_eq(rc, NB_UNUSABLE);
        return;
    }
    ck_assert_msg(rc == 0, "case %d: %s", _i, error.text);
    ck_assert_str_eq(model, parents[_i].model);
}
END_TEST

START_TEST(the_model_of_all_is_the_configured_one)
{
    char model[NB_FILTER_MODEL];
    set("model", "inbox");
    ck_assert_int_eq(nb_filter_model(&config, str("bob"), model, NULL), 0);
    ck_assert_str_eq(model, "inbox");
    ck_assert_int_eq(nb_filter_model(&config, (struct nb_string){NULL, 0}, model, NULL), 0);
    ck_assert_str_eq(model, "inbox");
}
END_TEST

/* ---- scores ---------------------------------------------------------------------------------- */

/* These rows are the table in config/integrations/spamc/README.md. */
START_TEST(scores_of_published_thresholds)
{
    static const struct {
        double probability, by_spamd, by_rspamd;
    } rows[] = {{.90, 5, 3.58},   {.941, 6.31, 4.51}, {.975, 8.34, 5.97},
                {.988, 10, 7.18}, {.9986, 15, 10.7},  {.9999, 20.96, 15}};
    for (int i = 0; i < COUNT(rows); i++) {
        double at = log(rows[i].probability) - log1p(-rows[i].probability);
        ck_assert_double_eq_tol(nb_filter_score(at, 5, .9), rows[i].by_spamd, .05);
        ck_assert_double_eq_tol(nb_filter_score(at, 15, .9999), rows[i].by_rspamd, .05);
    }
}
END_TEST

static const double thresholds[] = {0.5000001, 0.6, 0.75, 0.9, 0.99, 0.9999, 1 - 1e-9};

static double log_odds(double p)
{
    return log(p) - log1p(-p);
}

START_TEST(scores_are_what_is_required_at_the_threshold)
{
    double threshold = thresholds[_i], at = log_odds(threshold);
    for (double required = 1; required <= 1000; required *= 3.7) {
        ck_assert(nb_filter_score(at, required, threshold) == required);
        ck_assert(nb_filter_score(0, required, threshold) == 0);
        ck_assert(nb_filter_score(-at, required, threshold) == -required);
        ck_assert(nb_filter_score(nextafter(at, 99), required, threshold) >= required);
        ck_assert(nb_filter_score(at * (1 - 1e-9), required, threshold) < required);
        double last = -INFINITY;
        for (double l = -30; l <= 30; l += 0.25) {
            double score = nb_filter_score(l, required, threshold);
            ck_assert(isfinite(score) && score > last);
            last = score;
        }
    }
}
END_TEST

START_TEST(a_threshold_of_1_is_never_reached)
{
    ck_assert(nb_filter_score(30, 15, 1) < 15);
    ck_assert(nb_filter_score(30, 15, 1) > 14);
    ck_assert(nb_filter_score(0, 15, 1) == 0);
}
END_TEST

/* ---- the options ----------------------------------------------------------------------------- */

static const struct {
    const char *key, *value, *other_key, *other_value, *said; /* NULL: the options are accepted */
} options[] = {
    {NULL, NULL, NULL, NULL, NULL},
    {"model", "a b", NULL, NULL, "[filter] model: "},
    {"model", "-mail", NULL, NULL, "model"},
    {"spam_labels", "sp\tam", NULL, NULL, "[filter] spam_labels: "},
    {"ham_label", "h\tam", NULL, NULL, "[filter] ham_label: "},
    {"spam_labels", "same", "ham_label", "same", "two labels"},
    {"spam_labels", "ham", NULL, NULL, "two labels"},
    {"spam_labels", "Ham", NULL, NULL, NULL},
    {"spam_labels", "spam, phishing ,my own", NULL, NULL, NULL},
    {"spam_labels", "spam,phishing,spam", NULL, NULL, "'spam' twice"},
    {"spam_labels", "spam, ham", NULL, NULL, "two labels"},
    {"spam_labels", ", ,", NULL, NULL, "1 to 16 labels"},
    {"spam_labels", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", NULL, NULL, NULL},
    {"spam_labels", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", NULL, NULL, "1 to 16 labels"},
    {"spam_labels", HUNDRED, NULL, NULL, "[filter] spam_labels: "},
    {"spam_labels", "a, b", "label_actions", "a=reject, b = add header", NULL},
    {"spam_labels", "a=b", "label_actions", "a=b=no action", NULL},
    {"label_actions", "spam=reject", NULL, NULL, NULL},
    {"label_actions", "ham=reject", NULL, NULL, "'ham' is none of spam_labels"},
    {"label_actions", HUNDRED "=reject", NULL, NULL, "is none of spam_labels"},
    {"label_actions", "spam=discard", NULL, NULL, "'spam=discard' is not LABEL=ACTION"},
    {"label_actions", "spam", NULL, NULL, "is not LABEL=ACTION"},
    {"label_actions", "=reject", NULL, NULL, "is none of spam_labels"},
    {"add_header", "0.5", NULL, NULL, "add_header"},
    {"add_header", "0.51", NULL, NULL, NULL},
    {"reject", "0.5", NULL, NULL, "reject"},
    {"reject", "0", NULL, NULL, "reject"},
    {"reject", "0.500001", NULL, NULL, NULL},
    {"unsure", "0.91", NULL, NULL, "unsure"},
    {"unsure", "0.9", NULL, NULL, NULL},
    {"unsure", "0", NULL, NULL, NULL},
    {"unsure", "1", "add_header", "1", NULL},
    {"reject", "1", "rewrite_subject", "0", NULL},
    {"user_model", "mail", NULL, NULL, "%u"},
    {"user_model", "%U", NULL, NULL, "%u"},
    {"user_model", "mail/%u", NULL, NULL, "user_model"},
    {"user_model", "%u%u", NULL, NULL, "user_model"},
    {"user_model", "mail-%u", NULL, NULL, NULL},
    {"user_parent", "mail", NULL, NULL, NULL},
    {"user_parent", "mail-%d", NULL, NULL, NULL},
    {"user_parent", "mail %d", NULL, NULL, "user_parent"},
    {"user_parent", "a/b", NULL, NULL, "user_parent"},
    {"user_model", HUNDRED "01234567890123456-%u", NULL, NULL, "user_model"},
};

START_TEST(options_go_together_or_are_refused)
{
    struct nb_error error = {0};
    if (options[_i].key != NULL)
        set(options[_i].key, options[_i].value);
    if (options[_i].other_key != NULL)
        set(options[_i].other_key, options[_i].other_value);
    int rc = nb_filter_check_config(&config, &error);
    if (options[_i].said == NULL) {
        ck_assert_msg(rc == 0, "case %d: %s", _i, error.text);
        return;
    }
    ck_assert_msg(rc == NB_INVALID || rc == NB_UNUSABLE, "case %d: %d", _i, rc); /* user's fault */
    ck_assert_msg(strstr(error.text, options[_i].said) != NULL, "case %d: %s", _i, error.text);
}
END_TEST

/* ---- verdicts -------------------------------------------------------------------------------- */

#define SPAM                                                                                       \
    "From: Deals <win@spam.example>\nSubject: cheap watches\nMessage-ID: <s@spam.example>\n\n"     \
    "Order cheap watches today, win a prize, click http://spam.example/win now!\n"
#define HAM                                                                                        \
    "From: Ann <ann@club.example>\nSubject: garden club\nMessage-ID: <h@club.example>\n\n"         \
    "We meet at six in the garden; Ann brings the seeds.\n"

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine *engine;
static struct nb_server server;
static struct nb_filter_report report;

static void setup(void)
{
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    setup_config();
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
    memset(&server, 0, sizeof server);
    server.engine = engine;
    server.scratch = nb_scratch_pool_new();
    server.metrics = nb_metrics_new(NULL, NULL, 0, "1");
    ck_assert(server.scratch != NULL && server.metrics != NULL);
    nb_metrics_name_actions(server.metrics, nb_filter_action_names, NB_FILTER_ACTIONS);
}

static void teardown(void)
{
    nb_scratch_pool_free(&server.scratch);
    nb_metrics_free(&server.metrics);
    nb_engine_close(&engine);
    test_folder_remove(directory);
    teardown_config();
}

static struct nb_document mail_of(const char *mail)
{
    return (struct nb_document){.kind = NB_DOCUMENT_MAIL, .bytes = mail, .length = strlen(mail)};
}

/* Learns `count` mails of a label, or of each of the two labels if `label` is NULL. */
static void train_label(const char *model, const char *label, int count)
{
    static const char *const words[] = {"prize pills", "garden seeds"};
    struct nb_batch *batch;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_batch_new(engine, str(model), false, &batch, &error), 0);
    for (int i = 0; i < 2 * count; i++) {
        char mail[1024], id[16];
        const char *own = i % 2 == 0 ? "spam" : "ham";
        snprintf(mail, sizeof mail, "X-Number: n%d\n%s%s %d\n", i, i % 2 == 0 ? SPAM : HAM,
                 words[i % 2], i);
        snprintf(id, sizeof id, "%d", i);
        struct nb_document document = mail_of(mail);
        if (label == NULL || strcmp(label, own) == 0)
            ck_assert_int_eq(nb_batch_train(batch, &document, str(own), str(id), str(""), &error),
                             0);
    }
    nb_engine_apply(engine, batch);
    for (size_t i = 0; i < nb_batch_size(batch); i++)
        ck_assert_int_eq(nb_batch_receipt(batch, i)->code, 0);
    nb_batch_free(&batch);
}

static void train(const char *model, int count)
{
    train_label(model, NULL, count);
}

/* Returns the probability of spam that the engine gives. */
static double probability(const char *model, const char *mail)
{
    struct nb_verdict verdict;
    struct nb_document document = mail_of(mail);
    double p = NAN;
    nb_verdict_init(&verdict);
    ck_assert_int_eq(nb_engine_classify(engine, str(model), &document, 0, &verdict, NULL), 0);
    ck_assert(verdict.stacked);
    for (size_t i = 0; i < verdict.size; i++)
        if (strcmp(verdict.labels[i], "spam") == 0)
            p = verdict.probabilities[i];
    nb_verdict_deinit(&verdict);
    return p;
}

static void check_for(const char *mail, const char *user)
{
    struct nb_error error = {0};
    memset(&report, 0xa5, sizeof report); /* the check must set every member */
    const struct nb_string asked[] = {str(user)};
    int rc = nb_filter_check(
        &server, &config, models,
        &(struct nb_document){.kind = NB_DOCUMENT_MAIL, .bytes = mail, .length = strlen(mail)},
        asked, 1, NULL, &report, NULL, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
}

static void check(const char *mail)
{
    check_for(mail, "");
}

static const struct nb_filter_symbol *symbol(const char *name)
{
    for (size_t i = 0; i < report.symbol_count; i++)
        if (strcmp(report.symbols[i].name, name) == 0)
            return &report.symbols[i];
    return NULL;
}

static void set_thresholds(double unsure, double header, double subject, double reject)
{
    config.filter_unsure = unsure;
    config.filter_add_header = header;
    config.filter_rewrite_subject = subject;
    config.filter_reject = reject;
}

static void expect(const char *mail, enum nb_filter_action action, const char *name,
                   const char *status)
{
    check(mail);
    ck_assert_int_eq(report.action, action);
    ck_assert_msg(symbol(name) != NULL, "%s, not %s", report.symbols[0].name, name);
    ck_assert_str_eq(report.symbols[0].name, name);
    ck_assert_str_eq(report.status, status);
}

START_TEST(a_threshold_is_reached_at_it_and_not_below)
{
    train("mail", 12);
    double p = probability("mail", SPAM), above = nextafter(p, 2);
    ck_assert_msg(p > 0.5 && above < 1, "%.17g", p);
    check(SPAM);
    ck_assert(report.is_ready && !report.is_test);
    ck_assert(report.probability == p);
    ck_assert_double_eq_tol(report.log_odds, log_odds(p), 1e-9);
    ck_assert_str_eq(report.model, "mail");
    ck_assert_str_eq(report.note, "");
    ck_assert_str_eq(report.message_id, "s@spam.example");
    set_thresholds(0, p, 1, 1);
    expect(SPAM, NB_FILTER_ADD_HEADER, "BAYES_SPAM", "spam");
    ck_assert_str_eq(report.subject, "");
    set_thresholds(0, above, 1, 1);
    expect(SPAM, NB_FILTER_NO_ACTION, "BAYES_UNSURE", "unsure");
    set_thresholds(p, above, 1, 1);
    expect(SPAM, NB_FILTER_NO_ACTION, "BAYES_UNSURE", "unsure");
    set_thresholds(above, above, 1, 1);
    expect(SPAM, NB_FILTER_NO_ACTION, "BAYES_HAM", "ham");
    set_thresholds(0, p, p, 1);
    expect(SPAM, NB_FILTER_REWRITE_SUBJECT, "BAYES_SPAM", "spam");
    ck_assert_str_eq(report.subject, "***SPAM*** cheap watches");
    set_thresholds(0, p, above, 1);
    expect(SPAM, NB_FILTER_ADD_HEADER, "BAYES_SPAM", "spam");
    set_thresholds(0, p, p, p);
    expect(SPAM, NB_FILTER_REJECT, "BAYES_SPAM", "spam");
    ck_assert(nb_filter_score(report.log_odds, 15, p) == 15);
    set_thresholds(0, p, p, above);
    expect(SPAM, NB_FILTER_REWRITE_SUBJECT, "BAYES_SPAM", "spam");
}
END_TEST

START_TEST(models_that_a_client_may_not_use_are_not_asked)
{
    static const struct {
        const char *models, *user;
        int rc;
        const char *model; /* the model that decides; NULL: none is ready */
    } table[] = {
        {"*", "ann", 0, "mail-ann"},         {"*", "bob", 0, "mail"},
        {"mail-*", "ann", 0, "mail-ann"},    {"mail-*", "bob", 0, NULL},
        {"mail", "ann", NB_FORBIDDEN, NULL}, {"mail", "", 0, "mail"},
        {"mail-*", "", NB_FORBIDDEN, NULL},  {"mail-ann", "bob", NB_FORBIDDEN, NULL},
        {"mail,mail-bob", "bob", 0, "mail"},
    };
    train("mail", 12);
    train("mail-ann", 12);
    set("user_model", "mail-%u");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct nb_error error = {0};
        const struct nb_string asked[] = {str(table[i].user)};
        int rc = nb_filter_check(
            &server, &config, table[i].models,
            &(struct nb_document){.kind = NB_DOCUMENT_MAIL, .bytes = SPAM, .length = strlen(SPAM)},
            asked, 1, NULL, &report, NULL, &error);
        ck_assert_msg(rc == table[i].rc, "case %zu: %d", i, rc);
        if (rc == 0)
            ck_assert_msg(report.is_ready == (table[i].model != NULL), "case %zu", i);
        if (table[i].model != NULL)
            ck_assert_str_eq(report.model, table[i].model);
    }
}
END_TEST

START_TEST(ham_is_ham)
{
    train("mail", 12);
    double p = probability("mail", HAM);
    ck_assert(p < 0.3);
    expect(HAM, NB_FILTER_NO_ACTION, "BAYES_HAM", "ham");
    ck_assert(report.probability == p && report.log_odds < 0);
    set_thresholds(p, 0.9, 1, 1);
    expect(HAM, NB_FILTER_NO_ACTION, "BAYES_UNSURE", "unsure");
}
END_TEST

START_TEST(actions_are_counted)
{
    train("mail", 12);
    double p = probability("mail", SPAM);
    check(HAM);
    set_thresholds(0, p, 1, 1);
    check(SPAM);
    check(SPAM);
    set_thresholds(0, p, 1, p);
    check(SPAM);
    check("X" GTUBE);
    check("");
    ck_assert_uint_eq(nb_metrics_mails(server.metrics, NB_FILTER_NO_ACTION), 1);
    ck_assert_uint_eq(nb_metrics_mails(server.metrics, NB_FILTER_ADD_HEADER), 2);
    ck_assert_uint_eq(nb_metrics_mails(server.metrics, NB_FILTER_REWRITE_SUBJECT), 0);
    ck_assert_uint_eq(nb_metrics_mails(server.metrics, NB_FILTER_REJECT), 2);
}
END_TEST

/* Checks the symbols: the first is the verdict, the others are parts of the mail. */
static void check_symbols(void)
{
    for (size_t i = 0; i < report.symbol_count; i++) {
        const struct nb_filter_symbol *s = &report.symbols[i];
        ck_assert_int_eq(s->evidence != 0, i > 0);
        ck_assert_int_eq(strncmp(s->name, "BAYES_PART_", 11) == 0, i > 0);
        ck_assert_str_ne(report.symbols[i].description, "");
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(report.symbols[j].name, report.symbols[i].name);
    }
}

START_TEST(the_first_symbol_is_the_verdict)
{
    static const char *const probes[] = {
        SPAM, HAM, "Subject: nothing known\n\nunheard vocables", "\n\nwin garden",
        "From: win@spam.example\nSubject: garden club\n\nseeds http://spam.example/win"};
    train("mail", 12);
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        config.filter_evidence = 3;
        check(probes[i]);
        check_symbols();
        double total = report.log_odds;
        config.filter_evidence = 0;
        check(probes[i]);
        ck_assert_uint_eq(report.symbol_count, 1);
        ck_assert(report.log_odds == total);
    }
}
END_TEST

/* Returns how many tokens a symbol names. */
static size_t named(const struct nb_filter_symbol *s)
{
    size_t count = s->option[0] != '\0';
    for (const char *c = strstr(s->option, ", "); c != NULL; c = strstr(c + 1, ", "))
        count++;
    return count;
}

START_TEST(symbols_name_as_many_tokens_as_asked_for)
{
    train("mail", 12);
    for (uint64_t most = 1; most <= 4; most++) {
        size_t found = 0;
        config.filter_evidence = most;
        check(SPAM);
        ck_assert_uint_gt(report.symbol_count, 1);
        for (size_t i = 1; i < report.symbol_count; i++) {
            const struct nb_filter_symbol *s = &report.symbols[i];
            bool speaks_for_spam = strstr(s->description, "speak for spam") != NULL;
            ck_assert_uint_le(named(s), most);
            ck_assert_msg(speaks_for_spam == (s->evidence > 0), "%s", s->description);
            ck_assert_msg(strstr(s->description, s->option) != NULL, "%s: %s", s->name, s->option);
            found += named(s) == most;
        }
        ck_assert_uint_gt(found, 0);
    }
}
END_TEST

/* The evidence of a field may speak for spam or for ham, whichever of the two wins. */
START_TEST(symbols_speak_for_what_their_words_speak_for)
{
    static const struct {
        const char *mail;
        bool subject_is_spam, body_is_spam;
    } table[] = {
        {SPAM, true, true},
        {HAM, false, false},
        {"Subject: cheap watches\n\nWe meet at six in the garden; Ann brings the seeds.\n", true,
         false},
        {"Subject: garden club\n\nOrder cheap watches today, win a prize, click now!\n", false,
         true},
    };
    train("mail", 12);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        check(table[i].mail);
        const struct nb_filter_symbol *subject = symbol("BAYES_PART_SUBJECT");
        const struct nb_filter_symbol *body = symbol("BAYES_PART_BODY");
        ck_assert_msg(subject != NULL || body != NULL, "mail %zu", i);
        ck_assert(subject == NULL || (subject->evidence > 0) == table[i].subject_is_spam);
        ck_assert(body == NULL || (body->evidence > 0) == table[i].body_is_spam);
    }
}
END_TEST

/* A model that decides by Bayes alone can give a probability of 1; a threshold of 1 still means
 * never. */
START_TEST(certainty_does_not_reach_1)
{
    char mail[8192] = "Subject: watches\n\n";
    struct nb_settings settings;
    bool created;
    nb_settings_init(&settings, NB_PRESET_BOOK);
    ck_assert_int_eq(
        nb_engine_put_model(engine, str("mail"), &settings, false, str(""), &created, NULL), 0);
    nb_settings_deinit(&settings);
    train("mail", 12);
    for (size_t i = strlen(mail); i + 8 < sizeof mail; i += 8)
        memcpy(mail + i, "watches ", 9);
    set_thresholds(0, 1, 1, 1);
    expect(mail, NB_FILTER_NO_ACTION, "BAYES_UNSURE", "unsure");
    ck_assert(report.is_ready && report.probability == 1);
    ck_assert(nb_filter_score(report.log_odds, 15, config.filter_reject) < 15);
    set_thresholds(0, 1, 1, 1 - 1e-12);
    expect(mail, NB_FILTER_REJECT, "BAYES_SPAM", "spam");
    check_symbols();
    expect(HAM, NB_FILTER_NO_ACTION, "BAYES_UNSURE", "unsure");
    ck_assert(isfinite(report.log_odds));
    check_symbols();
}
END_TEST

/* ---- too little training --------------------------------------------------------------------- */

START_TEST(too_little_training_is_said)
{
    expect(SPAM, NB_FILTER_NO_ACTION, "BAYES_NOT_READY", "unsure");
    ck_assert(!report.is_ready && report.log_odds == 0 && report.probability == 0.5);
    ck_assert_uint_eq(report.symbol_count, 1);
    ck_assert_ptr_nonnull(strstr(report.symbols[0].description, "nothing was learned yet"));
    ck_assert_str_eq(report.note, ", nothing learned");
    train_label("mail", "spam", 12);
    expect(SPAM, NB_FILTER_NO_ACTION, "BAYES_NOT_READY", "unsure");
    ck_assert_ptr_nonnull(strstr(report.symbols[0].description, "another label"));
    ck_assert_str_eq(report.note, ", too little learned");
    ck_assert_str_eq(report.message_id, "s@spam.example");
    check_symbols();
    train_label("mail", "ham", 1);
    check(SPAM);
    ck_assert(report.is_ready && report.action == NB_FILTER_NO_ACTION);
    check_symbols();
    train("mail", 12);
    check(SPAM);
    ck_assert(report.is_ready && report.action != NB_FILTER_NO_ACTION);
}
END_TEST

START_TEST(ham_alone_is_not_enough)
{
    train_label("mail", "ham", 12);
    expect(SPAM, NB_FILTER_NO_ACTION, "BAYES_NOT_READY", "unsure");
    ck_assert_ptr_nonnull(strstr(report.symbols[0].description, "spam_labels"));
}
END_TEST

/* The model of a user decides when it is ready; before that it decides only if there is no other
 * model. */
START_TEST(a_model_of_few_documents_decides_if_there_is_no_other)
{
    static const struct nb_string user = {"ann", 3};
    struct nb_error error = {0};
    set("user_model", "mail-%u");
    train("mail-ann", 3);
    for (int i = 0; i < 3; i++) {
        const char *want[] = {"mail-ann", "mail", "mail-ann"};
        if (i == 1)
            train("mail", 1);
        if (i == 2)
            train("mail-ann", 12);
        ck_assert_int_eq(nb_filter_check(&server, &config, "*",
                                         &(struct nb_document){.kind = NB_DOCUMENT_MAIL,
                                                               .bytes = SPAM,
                                                               .length = strlen(SPAM)},
                                         &user, 1, NULL, &report, NULL, &error),
                         0);
        ck_assert(report.is_ready);
        ck_assert_str_eq(report.model, want[i]);
        check_symbols();
    }
}
END_TEST

/* If the model does not know the spam label, its verdict does not mean ham. */
START_TEST(a_model_without_the_label_is_not_ready)
{
    train("mail", 12);
    set("spam_labels", "junk");
    expect(SPAM, NB_FILTER_NO_ACTION, "BAYES_NOT_READY", "unsure");
    ck_assert_ptr_nonnull(strstr(report.symbols[0].description, "spam_labels"));
}
END_TEST

START_TEST(no_mail_is_no_verdict)
{
    train("mail", 12);
    check("");
    ck_assert_int_eq(report.action, NB_FILTER_NO_ACTION);
    ck_assert_uint_eq(report.symbol_count, 0);
    ck_assert(report.log_odds == 0 && !report.is_ready && !report.is_test);
    ck_assert_str_eq(report.message_id, "");
    ck_assert_str_eq(report.subject, "");
    ck_assert_str_eq(report.model, "mail");
}
END_TEST

START_TEST(a_users_model_is_asked_once_it_is_ready)
{
    set("user_model", "mail-%u");
    train("mail", 12);
    check_for(SPAM, "<Bob@example.org>");
    ck_assert_str_eq(report.model, "mail");
    ck_assert(report.is_ready);
    train("mail-bob@example.org", 5);
    check_for(SPAM, "bob@example.org");
    ck_assert_str_eq(report.model, "mail");
    train("mail-bob@example.org", 13);
    check_for(SPAM, "Bob@example.org");
    ck_assert_str_eq(report.model, "mail-bob@example.org");
    ck_assert(report.probability == probability("mail-bob@example.org", SPAM));
    check_for(SPAM, "carol@example.org");
    ck_assert_str_eq(report.model, "mail");
    check_for(SPAM, "../carol");
    ck_assert_str_eq(report.model, "mail");
    ck_assert(report.is_ready);
    check_symbols();
}
END_TEST

START_TEST(a_user_of_an_untrained_daemon_is_told_so)
{
    set("user_model", "mail-%u");
    check_for(SPAM, "bob@example.org");
    ck_assert_str_eq(report.symbols[0].name, "BAYES_NOT_READY");
    ck_assert_str_eq(report.model, "mail");
    ck_assert_uint_eq(report.symbol_count, 1);
}
END_TEST

/* Checks a mail to two users, each of whom has a model. */
static void check_for_two(const char *first, const char *second)
{
    struct nb_error error = {0};
    const struct nb_string asked[] = {str(first), str(second)};
    struct nb_document document = mail_of(SPAM);
    memset(&report, 0xa5, sizeof report);
    int rc =
        nb_filter_check(&server, &config, models, &document, asked, 2, NULL, &report, NULL, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_str_eq(report.model, "mail-%u");
}

START_TEST(of_several_users_the_mildest_verdict_counts)
{
    set("user_model", "mail-%u");
    train("mail-ann", 12);
    train("mail-bob", 40);
    double ann = probability("mail-ann", SPAM), bob = probability("mail-bob", SPAM);
    ck_assert_msg(ann > 0.5 && ann != bob && bob > 0.5, "%.17g and %.17g", ann, bob);
    const char *mild = ann < bob ? "ann" : "bob", *strict = ann < bob ? "bob" : "ann";
    double low = fmin(ann, bob), high = fmax(ann, bob);
    const struct {
        double header, reject;
        enum nb_filter_action action;
    } table[] = {
        {low, 1, NB_FILTER_ADD_HEADER}, /* both reach `header` */
        {high, 1, NB_FILTER_NO_ACTION}, /* only one reaches it */
        {low, high, NB_FILTER_ADD_HEADER},
        {low, low, NB_FILTER_REJECT},
    };
    for (int i = 0; i < 2 * COUNT(table); i++) {
        set_thresholds(0, table[i / 2].header, 1, table[i / 2].reject);
        check_for_two(i % 2 == 0 ? mild : strict, i % 2 == 0 ? strict : mild);
        ck_assert_msg(report.action == table[i / 2].action, "case %d: %d", i, report.action);
        ck_assert_msg(report.probability == low, "case %d: %.17g", i, report.probability);
    }
}
END_TEST

/* ---- test mails ------------------------------------------------------------------------------ */

static const struct {
    const char *mail;
    bool is_test;
    enum nb_filter_action action;
    const char *status;
} tests[] = {
    {"Subject: t\n\nX" GTUBE "\n", true, NB_FILTER_REJECT, "spam"},
    {"Subject: t\r\n\r\nbefore X" GTUBE "after", true, NB_FILTER_REJECT, "spam"},
    {"Subject: t\n\nY" GTUBE, true, NB_FILTER_ADD_HEADER, "spam"},
    {"Subject: t\n\nZ" GTUBE, true, NB_FILTER_REWRITE_SUBJECT, "spam"},
    {"Subject: t\n\nA" GTUBE, true, NB_FILTER_NO_ACTION, "ham"},
    {"Subject: t\n\nB" GTUBE, false, 0, NULL},
    {"Subject: t\n\nx" GTUBE, false, 0, NULL},
    {GTUBE, false, 0, NULL},
    {"Subject: B" GTUBE "\n\nC" GTUBE GTUBE "X" GTUBE, true, NB_FILTER_REJECT, "spam"},
    {"Subject: t\n\nX" GTUBE "A" GTUBE, true, NB_FILTER_REJECT, "spam"},
    {"Subject: t\n\nXJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34", false, 0,
     NULL},
};

/* Returns whether the pattern counts without [filter] test_patterns. */
static bool is_gtube(int i)
{
    return tests[i].is_test && tests[i].action == NB_FILTER_REJECT;
}

START_TEST(only_gtube_itself_is_a_test_by_default)
{
    check(tests[_i].mail);
    ck_assert(report.is_test == is_gtube(_i));
    ck_assert((symbol("GTUBE") != NULL) == is_gtube(_i));
}
END_TEST

START_TEST(each_test_mail_has_its_action)
{
    set("test_patterns", "yes");
    check(tests[_i].mail);
    ck_assert(report.is_test == tests[_i].is_test);
    if (!tests[_i].is_test) {
        ck_assert_ptr_null(symbol("GTUBE"));
        return;
    }
    ck_assert_int_eq(report.action, tests[_i].action);
    ck_assert_str_eq(report.status, tests[_i].status);
    ck_assert_uint_eq(report.symbol_count, 1);
    ck_assert_str_eq(report.symbols[0].name, "GTUBE");
    ck_assert_str_eq(report.subject,
                     tests[_i].action == NB_FILTER_REWRITE_SUBJECT ? "***SPAM*** t" : "");
    check_symbols();
    double score = nb_filter_score(report.log_odds, 15, config.filter_reject);
    double marked = nb_filter_score(report.log_odds, 5, config.filter_add_header);
    ck_assert((score >= 15) == (tests[_i].action == NB_FILTER_REJECT));
    ck_assert((marked >= 5) == (tests[_i].action != NB_FILTER_NO_ACTION));
}
END_TEST

START_TEST(a_test_mail_is_looked_for_where_mail_is_read)
{
    config.mail_bytes = 1024;
    size_t length = 1024 + strlen("X" GTUBE);
    char *mail = malloc(length + 1);
    memset(mail, ' ', length);
    memcpy(mail, "Subject: t\n\n", 12);
    memcpy(mail + 1024, "X" GTUBE, length - 1024 + 1);
    check(mail);
    ck_assert(!report.is_test);
    config.mail_bytes = length;
    check(mail);
    ck_assert(report.is_test);
    free(mail);
}
END_TEST

/* ---- texts ----------------------------------------------------------------------------------- */

static void check_clean(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    ck_assert_uint_lt(length, size);
    for (size_t i = 0; i < length; i++)
        ck_assert_msg((unsigned char)text[i] >= 0x20 && text[i] != 0x7f, "byte %d: %s", text[i],
                      text);
}

static void check_texts(void)
{
    check_clean(report.message_id, sizeof report.message_id);
    check_clean(report.subject, sizeof report.subject);
    check_clean(report.model, sizeof report.model);
    for (size_t i = 0; i < report.symbol_count; i++) {
        const struct nb_filter_symbol *s = &report.symbols[i];
        check_clean(s->name, sizeof s->name);
        check_clean(s->description, sizeof s->description);
        check_clean(s->option, sizeof s->option);
    }
    struct nb_buffer status = {0};
    ck_assert_int_eq(nb_filter_status(&report, &status), 0);
    for (size_t i = 0; i < status.length; i++)
        ck_assert_int_ge(status.bytes[i], 0x20);
    nb_buffer_deinit(&status);
}

/* Puts every byte into every place of a mail from which a text is made. */
START_TEST(no_control_byte_gets_out)
{
    train("mail", 12);
    set_thresholds(0, DBL_EPSILON, DBL_EPSILON, 1); /* the subject of every mail is rewritten */
    for (int byte = 1; byte < 256; byte++) {
        char mail[512];
        snprintf(mail, sizeof mail,
                 "Message-ID: <a%cb\r\n\tc>\nSubject: win%c\r\n cheap%cwatches\nFrom: d%ce@spam\n"
                 "\nclick%cnow http://spam.example/win%c and prize%c\n",
                 byte, byte, byte, byte, byte, byte, byte);
        check(mail);
        check_texts();
        check_symbols();
    }
}
END_TEST

START_TEST(long_texts_are_cut)
{
    char long_word[3000], *mail = malloc(16000);
    memset(long_word, 'w', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    train("mail", 12);
    set("user_model", "%u");
    set("test_patterns", "yes");
    snprintf(mail, 16000, "Message-ID: <%s>\nSubject: %s %s\nFrom: %s@spam.example\n\n%s\nZ" GTUBE,
             long_word, long_word, long_word, long_word, long_word);
    check(mail);
    check_texts();
    ck_assert_uint_eq(strlen(report.message_id), NB_FILTER_FIELD - 1);
    ck_assert_uint_eq(strlen(report.subject), NB_FILTER_FIELD - 1);
    ck_assert_int_eq(strncmp(report.subject, "***SPAM*** www", 14), 0);
    mail[strlen(mail) - 1] = '\0'; /* no longer a test mail */
    check_for(mail, long_word);
    check_texts();
    check_symbols();
    ck_assert_str_eq(report.model, "mail");
    free(mail);
}
END_TEST

static const struct {
    const char *format, *header, *subject;
} subjects[] = {
    {"***SPAM*** %s", "Subject: win\n", "***SPAM*** win"},
    {"***SPAM*** %s", "Subject:   win   \r\n", "***SPAM*** win"},
    {"***SPAM*** %s", "SUBJECT: win\r\n\tmore\r\n", "***SPAM*** win\tmore"},
    {"***SPAM*** %s", "Subject: =?utf-8?q?w=C3=AFn?=\n", "***SPAM*** =?utf-8?q?w=C3=AFn?="},
    {"***SPAM*** %s", "Subject: w\xC3\xAFn\n", "***SPAM*** w\xC3\xAFn"},
    {"***SPAM*** %s", "Subject: one\nSubject: two\n", "***SPAM*** one"},
    {"***SPAM*** %s", "Subject:\n", "***SPAM*** "},
    {"***SPAM*** %s", "From: a\n", "***SPAM*** "},
    {"[junk]", "Subject: win\n", "[junk]"},
    {"%s (junk)", "Subject: 100% %s %n\n", "100% %s %n (junk)"},
    {"%s %s", "Subject: win\n", "win %s"},
    {"%d%s", "Subject: win\n", "%dwin"},
};

START_TEST(rewrites_each_subject)
{
    char mail[512];
    set("subject", subjects[_i].format);
    set("test_patterns", "yes");
    snprintf(mail, sizeof mail, "%s\nZ" GTUBE "\n", subjects[_i].header);
    check(mail);
    ck_assert_int_eq(report.action, NB_FILTER_REWRITE_SUBJECT);
    if (strchr(subjects[_i].subject, '\t') == NULL)
        ck_assert_str_eq(report.subject, subjects[_i].subject);
    else /* the subject was folded: the tab becomes a blank */
        ck_assert_str_eq(report.subject, "***SPAM*** win more");
}
END_TEST

static const struct {
    const char *status, *note;
    double probability;
    const char *text;
} statuses[] = {
    {"spam", "", 0.99874, "spam, probability=0.9987, model=mail"},
    {"ham", "", 0.25, "ham, probability=0.7500, model=mail"},
    {"unsure", "", 0.4, "unsure, probability=0.4000, model=mail"},
    {"unsure", ", nothing learned", 0.5, "unsure, probability=0.5000, model=mail, nothing learned"},
};

START_TEST(writes_each_status)
{
    struct nb_buffer out = {0};
    struct nb_filter_report made = {.status = statuses[_i].status,
                                    .note = statuses[_i].note,
                                    .probability = statuses[_i].probability,
                                    .model = "mail"};
    ck_assert_int_eq(nb_filter_status(&made, &out), 0);
    ck_assert_msg(out.length == strlen(statuses[_i].text) &&
                      memcmp(out.bytes, statuses[_i].text, out.length) == 0,
                  "%.*s", (int)out.length, out.bytes);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(actions_have_the_names_of_rspamd)
{
    static const char *const names[] = {"no action", "add header", "rewrite subject", "reject"};
    ck_assert_int_eq(COUNT(names), NB_FILTER_ACTIONS);
    for (int i = 0; i < NB_FILTER_ACTIONS; i++)
        ck_assert_str_eq(nb_filter_action_name((enum nb_filter_action)i), names[i]);
}
END_TEST

static TCase *without_engine(void)
{
    TCase *tcase = tcase_create("without an engine");
    tcase_add_checked_fixture(tcase, setup_config, teardown_config);
    tcase_add_loop_test(tcase, finds_each_mail, 0, COUNT(mails));
    tcase_add_loop_test(tcase, reads_each_message_id, 0, COUNT(message_ids));
    tcase_add_loop_test(tcase, makes_each_name_of_a_model, 0, COUNT(users));
    tcase_add_loop_test(tcase, makes_each_name_of_a_parent, 0, COUNT(parents));
    tcase_add_test(tcase, the_model_of_all_is_the_configured_one);
    tcase_add_test(tcase, scores_of_published_thresholds);
    tcase_add_loop_test(tcase, scores_are_what_is_required_at_the_threshold, 0, COUNT(thresholds));
    tcase_add_test(tcase, a_threshold_of_1_is_never_reached);
    tcase_add_loop_test(tcase, options_go_together_or_are_refused, 0, COUNT(options));
    tcase_add_loop_test(tcase, writes_each_status, 0, COUNT(statuses));
    tcase_add_test(tcase, actions_have_the_names_of_rspamd);
    return tcase;
}

static TCase *with_engine(void)
{
    TCase *tcase = tcase_create("with an engine");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60); /* for a store on a slow disk */
    tcase_add_test(tcase, a_threshold_is_reached_at_it_and_not_below);
    tcase_add_test(tcase, models_that_a_client_may_not_use_are_not_asked);
    tcase_add_test(tcase, ham_is_ham);
    tcase_add_test(tcase, actions_are_counted);
    tcase_add_test(tcase, the_first_symbol_is_the_verdict);
    tcase_add_test(tcase, symbols_name_as_many_tokens_as_asked_for);
    tcase_add_test(tcase, symbols_speak_for_what_their_words_speak_for);
    tcase_add_test(tcase, certainty_does_not_reach_1);
    tcase_add_test(tcase, too_little_training_is_said);
    tcase_add_test(tcase, ham_alone_is_not_enough);
    tcase_add_test(tcase, a_model_of_few_documents_decides_if_there_is_no_other);
    tcase_add_test(tcase, a_model_without_the_label_is_not_ready);
    tcase_add_test(tcase, no_mail_is_no_verdict);
    tcase_add_test(tcase, a_users_model_is_asked_once_it_is_ready);
    tcase_add_test(tcase, of_several_users_the_mildest_verdict_counts);
    tcase_add_test(tcase, a_user_of_an_untrained_daemon_is_told_so);
    tcase_add_loop_test(tcase, only_gtube_itself_is_a_test_by_default, 0, COUNT(tests));
    tcase_add_loop_test(tcase, each_test_mail_has_its_action, 0, COUNT(tests));
    tcase_add_test(tcase, a_test_mail_is_looked_for_where_mail_is_read);
    tcase_add_test(tcase, no_control_byte_gets_out);
    tcase_add_test(tcase, long_texts_are_cut);
    tcase_add_loop_test(tcase, rewrites_each_subject, 0, COUNT(subjects));
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("filter");
    suite_add_tcase(suite, without_engine());
    suite_add_tcase(suite, with_engine());
    return test_run_with_tokenizer(suite);
}
