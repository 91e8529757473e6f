/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/ascii.h"
#include "core/base/lines.h"
#include "server/access/models.h"
#include "server/base/metrics.h"
#include "server/filter/filter_labels.h"
#include "server/request/keep.h"
#include "server/request/server.h"
#include "server/request/verdict.h"
#include "tokenizer/mail/mime.h"

/* Beyond it a probability is as good as certain; and what no probability reaches. */
static const double LOG_ODDS_MOST = 30, LOG_ODDS_OF_CERTAINTY = 30.5;

/* Evidence below it is not worth a symbol: it changes the odds by less than 1.6 to 1. */
static const double LOG_ODDS_STRONG = 0.5;

/* The strongest tokens of a mail, of which each field's first are named. */
enum { EXPLAIN = 256 };

/* ---- the mail ----------------------------------------------------------------------------------
 */

/* Takes a line that begins with `prefix`, in any case, off the beginning of the text. */
static bool takes(struct nb_string *text, const char *prefix)
{
    if (!nb_string_starts_nocase(*text, prefix))
        return false;
    const char *next = nb_lines_next(text->bytes, text->bytes + text->length);
    *text = nb_string_from(*text, (size_t)(next - text->bytes));
    return true;
}

struct nb_string nb_filter_mail(struct nb_string body)
{
    struct nb_string mail = body;
    if (!takes(&mail, "From "))
        return body;
    (void)takes(&mail, "X-Envelope-From:"); /* if they are there */
    (void)takes(&mail, "X-Envelope-To:");
    return mail;
}

/* A field's text on one line of printable characters: what goes into replies that are lines. */
static void copy_clean(struct nb_string from, char *to, size_t room)
{
    size_t length = 0;
    for (size_t i = 0; i < from.length && length + 1 < room; i++) {
        unsigned char c = (unsigned char)from.bytes[i];
        if (c == '\r' || c == '\n')
            continue; /* folded: what follows begins with a blank (RFC 5322, 2.2.3) */
        to[length++] = (char)(c < 0x20 || c == 0x7f ? ' ' : c);
    }
    to[length] = '\0';
}

static struct nb_string without_angles(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    return s;
}

/* The subject as [filter] subject has it; the mail's own words stay as they are encoded. */
static void rewrite_subject(const char *format, struct nb_string own, char subject[NB_FILTER_FIELD])
{
    const char *place = strstr(format, "%s");
    size_t before = place != NULL ? (size_t)(place - format) : strlen(format);
    const struct nb_string parts[] = {
        {format, before},
        place != NULL ? nb_string_trim(own) : (struct nb_string){"", 0},
        {place != NULL ? place + 2 : "", place != NULL ? strlen(place + 2) : 0}};
    size_t length = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        copy_clean(parts[i], subject + length, NB_FILTER_FIELD - length);
        length += strlen(subject + length);
    }
}

/* The first field of a name; of length 0 when there is none. */
static struct nb_string find_field(const struct nb_config *config, struct nb_string mail,
                                   const char *wanted)
{
    return nb_mime_find_field(mail, (size_t)config->header_bytes, wanted);
}

void nb_filter_message_id(const struct nb_config *config, struct nb_string mail,
                          char message_id[NB_FILTER_FIELD])
{
    copy_clean(without_angles(find_field(config, mail, "Message-ID")), message_id, NB_FILTER_FIELD);
}

/* ---- the model ---------------------------------------------------------------------------------
 */

/* Puts `value`, in lower case, in the place of `mark` in `format`. */
static int put_name(const char *format, const char *mark, struct nb_string value,
                    const char *option, char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *place = strstr(format, mark);
    size_t before = (size_t)(place - format);
    /* One byte more than fits tells that it is too long. */
    char name[NB_FILTER_MODEL + 1];
    int length = snprintf(name, sizeof name, "%.*s%.*s%s", (int)before, format,
                          (int)(value.length < sizeof name ? value.length : sizeof name),
                          value.bytes, place + strlen(mark));
    for (size_t i = before; i < before + value.length && i < sizeof name; i++)
        name[i] = nb_ascii_lower(name[i]);
    if (nb_check_model_name((struct nb_string){name, strlen(name)}, error) != 0)
        return nb_error_set(error, NB_UNUSABLE,
                            "the user's address makes no name of a model ([filter] %s)", option);
    memcpy(model, name, (size_t)length + 1);
    return 0;
}

int nb_filter_model(const struct nb_config *config, struct nb_string user,
                    char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *format = config->filter_user_model;
    user = without_angles(user);
    if (strstr(format, "%u") == NULL || user.length == 0) {
        (void)snprintf(model, NB_FILTER_MODEL, "%s", config->filter_model); /* 128 bytes at most */
        return 0;
    }
    return put_name(format, "%u", user, "user_model", model, error);
}

int nb_filter_parent(const struct nb_config *config, struct nb_string user,
                     char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *format = config->filter_user_parent;
    user = without_angles(user);
    const char *at = user.length > 0 ? memrchr(user.bytes, '@', user.length) : NULL;
    bool has_domain = at != NULL && at + 1 < user.bytes + user.length;
    if (strstr(format, "%d") == NULL || !has_domain) {
        bool is_common = strstr(format, "%d") != NULL;
        (void)snprintf(model, NB_FILTER_MODEL, "%s", is_common ? config->filter_model : format);
        return nb_check_model_name(nb_string_of(model), error);
    }
    struct nb_string domain = nb_string_from(user, (size_t)(at + 1 - user.bytes));
    return put_name(format, "%d", domain, "user_parent", model, error);
}

/* ---- scores ------------------------------------------------------------------------------------
 */

static double log_odds_of(double probability)
{
    if (probability <= 0)
        return -LOG_ODDS_MOST;
    if (probability >= 1)
        return LOG_ODDS_MOST;
    return fmax(-LOG_ODDS_MOST, fmin(LOG_ODDS_MOST, log(probability) - log1p(-probability)));
}

static double log_odds_at(double threshold)
{
    return threshold < 1 ? log_odds_of(threshold) : LOG_ODDS_OF_CERTAINTY;
}

double nb_filter_score(double log_odds, double required, double threshold)
{
    return required * (log_odds / log_odds_at(threshold));
}

double nb_filter_shown_score(double log_odds, double required, double threshold, bool is_over,
                             unsigned digits)
{
    double scale = pow(10, digits);
    double score = round(nb_filter_score(log_odds, required, threshold) * scale) / scale;
    if (is_over)
        return fmax(score, required);
    /* The largest number of so few digits that is below. */
    return fmin(score, (ceil(required * scale - 1e-6) - 1) / scale) + 0.0; /* no -0.0 */
}

/* 1 as a threshold means never. */
static bool reaches(double probability, double threshold)
{
    return threshold < 1 && probability >= threshold;
}

static enum nb_filter_action action_at(const struct nb_config *config, double probability)
{
    if (reaches(probability, config->filter_reject))
        return NB_FILTER_REJECT;
    if (reaches(probability, config->filter_rewrite_subject))
        return NB_FILTER_REWRITE_SUBJECT;
    return reaches(probability, config->filter_add_header) ? NB_FILTER_ADD_HEADER
                                                           : NB_FILTER_NO_ACTION;
}

const char *const nb_filter_action_names[NB_FILTER_ACTIONS] = {
    [NB_FILTER_NO_ACTION] = "no action",
    [NB_FILTER_ADD_HEADER] = "add header",
    [NB_FILTER_REWRITE_SUBJECT] = "rewrite subject",
    [NB_FILTER_REJECT] = "reject",
};

const char *nb_filter_action_name(enum nb_filter_action action)
{
    return nb_filter_action_names[action];
}

struct nb_label_action {
    struct nb_string label;
    enum nb_filter_action action;
};

/* Reads "LABEL=ACTION", an item of [filter] label_actions. A label may have an equals sign. */
static bool read_label_action(struct nb_string item, struct nb_label_action *row)
{
    const char *equals = memrchr(item.bytes, '=', item.length);
    if (equals == NULL)
        return false;
    size_t length = (size_t)(equals - item.bytes);
    struct nb_string name = nb_string_trim(nb_string_from(item, length + 1));
    row->label = nb_string_trim((struct nb_string){item.bytes, length});
    row->action = NB_FILTER_NO_ACTION;
    while (row->action < NB_FILTER_ACTIONS &&
           !nb_string_equals(name, nb_filter_action_names[row->action]))
        row->action++;
    return row->action < NB_FILTER_ACTIONS;
}

int nb_filter_status(const struct nb_filter_report *report, struct nb_buffer *out)
{
    bool is_ham = strcmp(report->status, "ham") == 0;
    return nb_buffer_printf(out, "%s, probability=%.4f, model=%s%s", report->status,
                            is_ham ? 1 - report->probability : report->probability, report->model,
                            report->note);
}

/* ---- symbols -----------------------------------------------------------------------------------
 */

static struct nb_filter_symbol *add_symbol(struct nb_filter_report *report, const char *name,
                                           double evidence)
{
    struct nb_filter_symbol *symbol = &report->symbols[report->symbol_count++];
    symbol->evidence = evidence;
    (void)snprintf(symbol->name, sizeof symbol->name, "%s", name); /* fits */
    symbol->option[0] = '\0';
    return symbol;
}

/* The fields of a mail as an administrator reads of them. */
static const struct {
    const char *symbol, *what;
} FIELDS[NB_FIELDS] = {
    [NB_FIELD_BODY] = {"BAYES_PART_BODY", "Words of the text"},
    [NB_FIELD_SUBJECT] = {"BAYES_PART_SUBJECT", "Words of the Subject"},
    [NB_FIELD_ADDRESS] = {"BAYES_PART_ADDRESS", "Addresses and names"},
    [NB_FIELD_RECEIVED] = {"BAYES_PART_RECEIVED", "Hosts of the Received fields"},
    [NB_FIELD_HEADER] = {"BAYES_PART_HEADER", "Other header fields"},
    [NB_FIELD_STRUCTURE] = {"BAYES_PART_STRUCTURE", "MIME and HTML structure"},
    [NB_FIELD_URL] = {"BAYES_PART_URL", "Links"},
    [NB_FIELD_HIDDEN] = {"BAYES_PART_HIDDEN", "Hidden text"},
    [NB_FIELD_CASE] = {"BAYES_PART_CASE", "Words with capitals"},
    [NB_FIELD_PAIR] = {"BAYES_PART_PAIR", "Pairs of words"},
    [NB_FIELD_NGRAM] = {"BAYES_PART_NGRAM", "Character 5-grams"},
};

/* The strongest tokens of a field that speak the way the field does. */
static void name_tokens(const struct nb_verdict *verdict, enum nb_field field, uint64_t most,
                        char option[NB_FILTER_TEXT])
{
    size_t length = 0;
    uint64_t named = 0;
    bool is_positive = verdict->field_evidence[field] > 0;
    option[0] = '\0';
    for (size_t i = 0; i < verdict->explanation_count && named < most; i++) {
        const struct nb_explained *row = &verdict->explanation[i];
        if (row->token.bytes == NULL || row->field != field || (row->evidence > 0) != is_positive)
            continue;
        /* Whole tokens, with room for the comma before the next one. */
        if (length + row->token.length + sizeof ", " > NB_FILTER_TEXT / 2)
            continue;
        if (named++ > 0)
            length += (size_t)sprintf(option + length, ", ");
        copy_clean(row->token, option + length, NB_FILTER_TEXT - length);
        length += strlen(option + length);
    }
}

/* By estimates that may be 0, tokens can make a label impossible, or both: then they tell nothing.
 */
static double finite_log_odds(double evidence)
{
    if (isnan(evidence))
        return 0;
    return isinf(evidence) ? copysign(LOG_ODDS_MOST, evidence) : evidence;
}

/* What the fields of the mail add, where it is much. */
static void add_evidence(const struct nb_verdict *verdict, double sign, uint64_t most,
                         struct nb_filter_report *report)
{
    for (unsigned field = 0; field < NB_FIELDS && most > 0; field++) {
        double log_odds = sign * finite_log_odds(verdict->field_evidence[field]);
        char tokens[NB_FILTER_TEXT];
        if (fabs(log_odds) < LOG_ODDS_STRONG)
            continue;
        struct nb_filter_symbol *symbol = add_symbol(report, FIELDS[field].symbol, log_odds);
        name_tokens(verdict, (enum nb_field)field, most, tokens);
        memcpy(symbol->option, tokens, sizeof tokens);
        (void)snprintf(symbol->description, sizeof symbol->description, "%s speak for %s%s%.128s",
                       FIELDS[field].what, log_odds > 0 ? "spam" : "ham",
                       tokens[0] != '\0' ? ": " : "", tokens); /* fits */
    }
}

/* ---- verdicts ----------------------------------------------------------------------------------
 */

/* The action that [filter] label_actions gives to this label of spam, else `otherwise`. */
static enum nb_filter_action action_of_label(const struct nb_config *config, const char *label,
                                             enum nb_filter_action otherwise)
{
    const char *list = config->filter_label_actions;
    struct nb_string item;
    while (nb_filter_list_next(&list, &item)) {
        struct nb_label_action row;
        if (read_label_action(item, &row) && nb_string_equals(row.label, label))
            return row.action;
    }
    return otherwise;
}

enum nb_filter_action nb_filter_action_of(const struct nb_config *config,
                                          const struct nb_filter_spam *spam)
{
    enum nb_filter_action action = action_at(config, spam->probability);
    return action == NB_FILTER_NO_ACTION ? action : action_of_label(config, spam->label, action);
}

/* Evidence speaks for the winner against the runner-up: 1 when it speaks for spam, -1 when against
 * it, 0 when both are spam, or neither: then it does not speak of spam. */
static int sign_of_evidence(const struct nb_config *config, const struct nb_verdict *verdict)
{
    size_t best = verdict->best, second = verdict->size;
    for (size_t i = 0; i < verdict->size; i++) {
        bool is_more =
            second == verdict->size || verdict->probabilities[i] > verdict->probabilities[second];
        if (i != best && is_more)
            second = i;
    }
    bool is_spam = nb_filter_is_spam(config, verdict->labels[best]);
    if (second < verdict->size && is_spam == nb_filter_is_spam(config, verdict->labels[second]))
        return 0;
    return is_spam ? 1 : -1;
}

/* The verdict of a model that knows enough. */
static void judge(const struct nb_config *config, const struct nb_verdict *verdict,
                  const struct nb_filter_spam *spam, struct nb_filter_report *report)
{
    double p = spam->probability;
    report->is_ready = true;
    report->probability = p;
    report->log_odds = log_odds_of(p);
    report->action = nb_filter_action_of(config, spam);
    bool is_spam = action_at(config, p) != NB_FILTER_NO_ACTION;
    report->status = is_spam ? "spam" : p >= config->filter_unsure ? "unsure" : "ham";
    struct nb_filter_symbol *symbol = add_symbol(report,
                                                 is_spam                      ? "BAYES_SPAM"
                                                 : p >= config->filter_unsure ? "BAYES_UNSURE"
                                                                              : "BAYES_HAM",
                                                 0);
    (void)snprintf(symbol->description, sizeof symbol->description, "Probability of spam %.4f",
                   p); /* fits */
    if (is_spam && spam->count > 1)
        copy_clean(nb_string_of(spam->label), symbol->option, sizeof symbol->option);
    int sign = sign_of_evidence(config, verdict);
    if (sign != 0)
        add_evidence(verdict, sign, config->filter_evidence, report);
}

static void say_not_ready(const char *missing, const char *note, struct nb_filter_report *report)
{
    report->status = "unsure";
    report->note = note;
    report->probability = 0.5;
    struct nb_filter_symbol *symbol = add_symbol(report, "BAYES_NOT_READY", 0);
    (void)snprintf(symbol->description, sizeof symbol->description, "Too little training: %s",
                   missing);
}

/* One mail, and what is asked about it. */
struct asking {
    struct nb_server *server;
    const struct nb_config *config;
    const char *models;
    const struct nb_request *request; /* whose verdicts are kept; NULL: none are */
    struct nb_document document;
    struct nb_buffer *each; /* NULL: no verdicts of single users are wanted */
    struct nb_verdict *verdict;
    bool is_again; /* a model was asked about it already: it is not tokenized again */
};

static int classify(struct asking *a, const char *model, struct nb_error *error)
{
    size_t explain = a->config->filter_evidence > 0 ? EXPLAIN : 0;
    bool is_again = a->is_again;
    a->is_again = true;
    return is_again ? nb_engine_classify_again(a->server->engine, nb_string_of(model), &a->document,
                                               explain, a->verdict, error)
                    : nb_engine_classify(a->server->engine, nb_string_of(model), &a->document,
                                         explain, a->verdict, error);
}

/* What a model can say of a mail. */
enum knowledge {
    KNOWS_NOTHING,  /* there is no spam among its documents, or nothing else */
    KNOWS_A_LITTLE, /* it gives a verdict, and is not ready: another model is preferred */
    KNOWS,
};

static const char *missing_of(bool is_unknown, const struct nb_filter_spam *spam)
{
    if (is_unknown)
        return "nothing was learned yet";
    return spam->is_known ? "all documents are spam, there must be another label"
                          : "no mail has a label of [filter] spam_label";
}

/* Keeps the verdict in the history of a model that has one. A mail gets its verdict also where it
 * cannot be kept. */
static void keep(const struct asking *a, const struct nb_verdict *verdict)
{
    static const struct nb_kept_verdict of_the_mail = {.id = {"", 0}, .source = {"", 0}};
    struct nb_buffer id = {0};
    bool is_kept;
    if (a->request != NULL && verdict->keeps_history)
        (void)nb_verdict_keep(a->request, verdict, &a->document, &of_the_mail, &id, &is_kept, NULL);
    nb_buffer_deinit(&id);
}

/* Asks one model, and makes the report if it says `least`, at least. A label that the model does
 * not know says nothing about ham: the configuration names another. Only the labels of [filter]
 * must be ready: spam is judged against all others together, whatever else somebody has trained. */
static int ask(struct asking *a, enum knowledge least, struct nb_filter_report *report,
               enum knowledge *knowledge, struct nb_error *error)
{
    struct nb_verdict *verdict = a->verdict;
    struct nb_error why = {0};
    int rc = classify(a, report->model, &why);
    bool is_unknown = rc == NB_NOT_FOUND || rc == NB_CONFLICT; /* nothing was learned yet */
    if (rc != 0 && !is_unknown)
        return nb_error_set(error, rc, "%s", why.text);
    struct nb_filter_spam spam = {.is_known = false};
    if (rc == 0)
        nb_filter_need(a->config, verdict);
    if (rc == 0 && nb_filter_find_spam(a->config, verdict, &spam) != 0)
        return nb_error_no_memory(error);
    *knowledge = !spam.has_others ? KNOWS_NOTHING : verdict->ready ? KNOWS : KNOWS_A_LITTLE;
    if (*knowledge != KNOWS_NOTHING && *knowledge >= least) {
        judge(a->config, verdict, &spam, report);
        keep(a, verdict);
    } else if (least == KNOWS_NOTHING) {
        say_not_ready(missing_of(is_unknown, &spam),
                      is_unknown ? ", nothing learned" : ", too little learned", report);
    }
    nb_verdict_reset(verdict);
    return 0;
}

/* The model of one user when it is ready, else the one of all; when that knows nothing, the user's
 * own as it is. */
static int ask_for(struct asking *a, struct nb_string user, struct nb_filter_report *report,
                   struct nb_error *error)
{
    const char *common = a->config->filter_model;
    enum knowledge own = KNOWS_NOTHING, of_all = KNOWS_NOTHING;
    report->symbol_count = 0;
    bool has_own = nb_filter_model(a->config, user, report->model, NULL) == 0 &&
                   strcmp(report->model, common) != 0;
    bool has_common = nb_models_match(a->models, nb_string_of(common));
    int rc = nb_models_check(a->models, nb_string_of(has_own ? report->model : common), error);
    if (rc == 0 && has_own)
        rc = ask(a, has_common ? KNOWS : KNOWS_NOTHING, report, &own, error);
    if (rc != 0 || own == KNOWS || (has_own && !has_common))
        return rc;
    (void)snprintf(report->model, sizeof report->model, "%s", common);
    rc = ask(a, own == KNOWS_NOTHING ? KNOWS_NOTHING : KNOWS_A_LITTLE, report, &of_all, error);
    if (rc != 0 || own == KNOWS_NOTHING || of_all != KNOWS_NOTHING)
        return rc;
    (void)nb_filter_model(a->config, user, report->model, NULL); /* as above */
    return ask(a, KNOWS_NOTHING, report, &own, error);
}

/* Notes the verdict of a user, under the name of the user's own model: a user whose model is not
 * ready yet finds the verdict in the same place. */
static int note_each(const struct asking *a, struct nb_string user,
                     const struct nb_filter_report *report, struct nb_error *error)
{
    char model[NB_FILTER_MODEL];
    if (a->each == NULL || nb_filter_model(a->config, user, model, NULL) != 0 ||
        strcmp(model, a->config->filter_model) == 0)
        return 0;
    int rc = nb_buffer_append(a->each, model, strlen(model) + 1);
    if (rc == 0)
        rc = nb_filter_status(report, a->each);
    if (rc == 0)
        rc = nb_buffer_append(a->each, "", 1);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int ask_and_note(struct asking *a, struct nb_string user, struct nb_filter_report *report,
                        struct nb_error *error)
{
    int rc = ask_for(a, user, report, error);
    return rc == 0 ? note_each(a, user, report, error) : rc;
}

static bool is_milder(const struct nb_filter_report *a, const struct nb_filter_report *b)
{
    return a->action < b->action || (a->action == b->action && a->probability < b->probability);
}

/* The mildest verdict of several users' models: nothing is done to a mail that one of its users
 * would not have done to it. It does not tell whose it is: the mail may go to users who must not
 * know of each other. */
static int ask_for_all(struct asking *a, const struct nb_string *users, size_t count,
                       struct nb_filter_report *report, struct nb_error *error)
{
    struct nb_filter_report *one = malloc(sizeof *one);
    if (one == NULL)
        return nb_error_no_memory(error);
    int rc = ask_and_note(a, users[0], report, error);
    for (size_t i = 1; i < count && rc == 0; i++) {
        *one = *report;
        rc = ask_and_note(a, users[i], one, error);
        if (rc == 0 && is_milder(one, report))
            *report = *one;
    }
    (void)snprintf(report->model, sizeof report->model, "%s", a->config->filter_user_model);
    free(one);
    return rc;
}

static int ask_models(struct asking *a, const struct nb_string *users, size_t count,
                      struct nb_filter_report *report, struct nb_error *error)
{
    const struct nb_string nobody = {"", 0};
    struct nb_scratch *scratch = nb_scratch_take(a->server->scratch);
    if (scratch == NULL)
        return nb_error_no_memory(error);
    a->verdict = &scratch->verdict;
    int rc = count > 1 ? ask_for_all(a, users, count, report, error)
                       : ask_and_note(a, count > 0 ? users[0] : nobody, report, error);
    nb_scratch_give(a->server->scratch, scratch);
    return rc;
}

/* ---- test patterns -----------------------------------------------------------------------------
 */

/* The Generic Test for Unsolicited Bulk Email, which every filter rejects, and its variants of
 * rspamd (src/libmime/message.c), by which an administrator sees each action at work. The variants
 * need [filter] test_patterns: anybody could write one into a mail to have it called ham. */
static const struct {
    char first;
    bool is_variant;
    enum nb_filter_action action;
} TESTS[] = {
    {'X', false, NB_FILTER_REJECT},
    {'Y', true, NB_FILTER_ADD_HEADER},
    {'Z', true, NB_FILTER_REWRITE_SUBJECT},
    {'A', true, NB_FILTER_NO_ACTION},
};

static bool take_test(char first, bool with_variants, enum nb_filter_action *action)
{
    for (size_t i = 0; i < sizeof TESTS / sizeof TESTS[0]; i++) {
        if (TESTS[i].first == first && (with_variants || !TESTS[i].is_variant)) {
            *action = TESTS[i].action;
            return true;
        }
    }
    return false;
}

/* Returns whether the mail is a test, and its action. */
static bool find_test(const struct nb_config *config, struct nb_string mail,
                      enum nb_filter_action *action)
{
    static const char PATTERN[] =
        "JS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X";
    size_t most = (size_t)config->mail_bytes;
    const char *end = mail.bytes + (mail.length < most ? mail.length : most);
    const char *at = mail.bytes + 1; /* behind the letter that makes it one of them */
    while (at < end && (at = memmem(at, (size_t)(end - at), PATTERN, sizeof PATTERN - 1)) != NULL) {
        if (take_test(at[-1], config->filter_test_patterns, action))
            return true;
        at += sizeof PATTERN - 1;
    }
    return false;
}

static void pass_test(const struct nb_config *config, enum nb_filter_action action,
                      struct nb_filter_report *report)
{
    report->is_test = true;
    report->action = action;
    report->note = ", test mail";
    report->status = action == NB_FILTER_NO_ACTION ? "ham" : "spam";
    report->probability = action == NB_FILTER_NO_ACTION ? 0 : 1;
    /* For clients that look at the score and not at the action. */
    report->log_odds = action == NB_FILTER_REJECT      ? log_odds_at(config->filter_reject)
                       : action == NB_FILTER_NO_ACTION ? 0
                                                       : log_odds_at(config->filter_add_header);
    (void)snprintf(report->model, sizeof report->model, "%s", config->filter_model);
    struct nb_filter_symbol *symbol = add_symbol(report, "GTUBE", 0);
    (void)snprintf(symbol->description, sizeof symbol->description,
                   "Generic Test for Unsolicited Bulk Email");
}

int nb_filter_check(struct nb_server *server, const struct nb_config *config, const char *models,
                    const struct nb_document *document, const struct nb_string *users, size_t count,
                    const struct nb_request *request, struct nb_filter_report *report,
                    struct nb_buffer *each, struct nb_error *error)
{
    enum { EACH = 1 };
    enum nb_filter_action action;
    struct asking asking = {.server = server,
                            .config = config,
                            .models = models,
                            .request = request,
                            .each = config->filter_several_users == EACH ? each : NULL,
                            .document = *document};
    const struct nb_string mail = {document->bytes, document->length};
    report->action = NB_FILTER_NO_ACTION;
    report->status = "unsure";
    report->note = "";
    report->is_test = report->is_ready = false;
    report->probability = 0.5;
    report->log_odds = 0;
    report->symbol_count = 0;
    report->message_id[0] = report->subject[0] = '\0';
    (void)snprintf(report->model, sizeof report->model, "%s", config->filter_model);
    if (mail.length == 0)
        return 0;
    nb_filter_message_id(config, mail, report->message_id);
    int rc = 0;
    if (find_test(config, mail, &action))
        pass_test(config, action, report);
    else
        rc = ask_models(&asking, users, count, report, error);
    if (report->action == NB_FILTER_REWRITE_SUBJECT)
        rewrite_subject(config->filter_subject, find_field(config, mail, "Subject"),
                        report->subject);
    if (rc == 0) {
        nb_metrics_mail(server->metrics, report->action);
        nb_metrics_verdict(server->metrics);
    }
    return rc;
}

/* ---- the options -------------------------------------------------------------------------------
 */

static int check_label_actions(const struct nb_config *config, struct nb_error *error)
{
    const char *list = config->filter_label_actions;
    struct nb_string item;
    while (nb_filter_list_next(&list, &item)) {
        struct nb_label_action row;
        char label[NB_FILTER_LABEL];
        if (!read_label_action(item, &row))
            return nb_error_set(error, NB_INVALID,
                                "[filter] label_actions: '%.*s' is not LABEL=ACTION; the actions "
                                "are no action, add header, rewrite subject and reject",
                                (int)(item.length < 100 ? item.length : 100), item.bytes);
        (void)snprintf(label, sizeof label, "%.*s", (int)row.label.length, row.label.bytes);
        if (row.label.length >= sizeof label || !nb_filter_is_spam(config, label))
            return nb_error_set(
                error, NB_INVALID, "[filter] label_actions: '%.*s' is none of spam_label",
                (int)(row.label.length < 100 ? row.label.length : 100), row.label.bytes);
    }
    return 0;
}

int nb_filter_check_config(const struct nb_config *config, struct nb_error *error)
{
    char model[NB_FILTER_MODEL];
    struct nb_error why = {0};
    if (nb_check_model_name(nb_string_of(config->filter_model), &why) != 0)
        return nb_error_set(error, NB_INVALID, "[filter] model: %s", why.text);
    int rc = nb_filter_check_labels(config, error);
    if (rc == 0)
        rc = check_label_actions(config, error);
    if (rc != 0)
        return rc;
    if (config->filter_add_header <= 0.5 || config->filter_reject <= 0.5)
        return nb_error_set(error, NB_INVALID,
                            "[filter] add_header and reject must be above 0.5, where scores are 0");
    if (config->filter_unsure > config->filter_add_header)
        return nb_error_set(error, NB_INVALID,
                            "[filter] unsure is the lower end of a band that ends at add_header; "
                            "it must not be above it");
    if (config->filter_user_parent[0] != '\0' &&
        nb_filter_parent(config, (struct nb_string){"user@example.org", 16}, model, &why) != 0)
        return nb_error_set(error, NB_INVALID, "[filter] user_parent: %s", why.text);
    if (config->filter_user_model[0] == '\0')
        return 0;
    if (strstr(config->filter_user_model, "%u") == NULL)
        return nb_error_set(error, NB_INVALID,
                            "[filter] user_model must hold %%u, where the user's address goes");
    return nb_filter_model(config, (struct nb_string){"user@example.org", 16}, model, error);
}
