/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/filter_report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "core/base/string.h"
#include "server/base/emit.h"
#include "server/mail/filter_options.h"
#include "tokenizer/mime.h"

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
    (void)takes(&mail, "X-Envelope-From:"); /* both are optional */
    (void)takes(&mail, "X-Envelope-To:");
    return mail;
}

/* Copies a text to one line of printable characters, for replies that consist of lines: at most
 * `room` bytes (at least 1) with the NUL. */
static void filter_copy_clean(struct nb_string from, char *to, size_t room)
{
    assert(room > 0);
    size_t length = 0;
    for (size_t i = 0; i < from.length && length + 1 < room; i++) {
        unsigned char c = (unsigned char)from.bytes[i];
        if (c == '\r' || c == '\n')
            continue; /* a folded field: the next line begins with a blank (RFC 5322, 2.2.3) */
        to[length++] = (char)(c < 0x20 || c == 0x7f ? ' ' : c);
    }
    to[length] = '\0';
}

/* Returns the first field of this name; of length 0 when there is none. */
static struct nb_string find_field(const struct nb_config *config, struct nb_string mail,
                                   const char *wanted)
{
    return nb_mime_find_field(mail, (size_t)config->header_bytes, wanted);
}

void nb_filter_message_id(const struct nb_config *config, struct nb_string mail,
                          char message_id[NB_FILTER_FIELD])
{
    filter_copy_clean(nb_filter_without_angles(find_field(config, mail, "Message-ID")), message_id,
                      NB_FILTER_FIELD);
}

void nb_filter_rewrite_subject(const struct nb_config *config, struct nb_string mail,
                               char subject[NB_FILTER_FIELD])
{
    const char *format = config->filter_subject;
    struct nb_string own = find_field(config, mail, "Subject");
    const char *place = strstr(format, "%s");
    size_t before = place != NULL ? (size_t)(place - format) : strlen(format);
    const struct nb_string parts[] = {
        {format, before},
        place != NULL ? nb_string_trim(own) : (struct nb_string){"", 0},
        {place != NULL ? place + 2 : "", place != NULL ? strlen(place + 2) : 0}};
    size_t length = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert(length < NB_FILTER_FIELD);
        filter_copy_clean(parts[i], subject + length, NB_FILTER_FIELD - length);
        length += strlen(subject + length);
    }
}

/* Evidence below this is not worth a symbol, because it changes the odds by less than a factor of
 * 1.6. */
static const double LOG_ODDS_STRONG = 0.5;

/* ---- texts ----------------------------------------------------------------------------------- */

/* A text that is written piece by piece, and cut when it does not fit. */
struct writing {
    char *to, *end; /* the last byte is for the NUL */
};

static void write_bytes(struct writing *w, const char *bytes, size_t length)
{
    assert(w->to <= w->end);
    size_t room = (size_t)(w->end - w->to);
    length = length < room ? length : room;
    /* cppcheck-suppress uninitvar ; nb_number_text_fixed writes the text of a number */
    memcpy(w->to, bytes, length);
    w->to += length;
    *w->to = '\0';
}

static void write_text(struct writing *w, const char *text)
{
    write_bytes(w, text, strlen(text));
}

static struct writing write_description(struct nb_filter_symbol *symbol)
{
    return (struct writing){symbol->description,
                            symbol->description + sizeof symbol->description - 1};
}

/* Adds a symbol without texts, which the caller writes. A report has at most NB_FILTER_SYMBOLS. */
static struct nb_filter_symbol *filter_add_symbol(struct nb_filter_report *report, const char *name,
                                                  double evidence)
{
    assert(report->symbol_count < NB_FILTER_SYMBOLS);
    struct nb_filter_symbol *symbol = &report->symbols[report->symbol_count++];
    symbol->evidence = evidence;
    assert(strlen(name) < sizeof symbol->name);
    memcpy(symbol->name, name, strlen(name) + 1);
    symbol->option[0] = symbol->description[0] = '\0';
    return symbol;
}

/* The names of the fields of a mail for an administrator. */
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

/* Writes the strongest tokens of a field to the option of its symbol: those that speak for the same
 * side as the whole field. */
struct naming {
    struct nb_filter_symbol *symbol; /* NULL: the field has no symbol */
    size_t length;
    uint64_t named;
    bool is_positive;
};

/* Appends a token if it fits whole, with a comma before the next one. */
static void name_token(struct naming *n, struct nb_string token)
{
    assert(n->symbol != NULL && n->length < NB_FILTER_TEXT);
    char *option = n->symbol->option;
    if (n->length + token.length + sizeof ", " > NB_FILTER_TEXT / 2)
        return;
    if (n->named++ > 0) {
        memcpy(option + n->length, ", ", sizeof ", ");
        n->length += 2;
    }
    filter_copy_clean(token, option + n->length, NB_FILTER_TEXT - n->length);
    n->length += strlen(option + n->length);
}

static void name_tokens(const struct nb_verdict *verdict, uint64_t most,
                        struct naming namings[NB_FIELDS])
{
    for (size_t i = 0; i < verdict->explanation_count; i++) {
        const struct nb_explained *row = &verdict->explanation[i];
        if (row->token.bytes == NULL || (unsigned)row->field >= NB_FIELDS)
            continue;
        struct naming *n = &namings[row->field];
        if (n->symbol != NULL && n->named < most && (row->evidence > 0) == n->is_positive)
            name_token(n, row->token);
    }
}

/* Returns finite log-odds. Estimates may be 0, so tokens can make one label impossible (infinite
 * log-odds, which are limited) or both (NaN: such tokens say nothing, 0). */
static double finite_log_odds(double evidence)
{
    if (isnan(evidence))
        return 0;
    return isinf(evidence) ? copysign(NB_FILTER_LOG_ODDS_MOST, evidence) : evidence;
}

static void describe(unsigned field, struct nb_filter_symbol *symbol)
{
    assert(field < NB_FIELDS);
    enum { TOKENS = 128 };
    struct writing w = write_description(symbol);
    write_text(&w, FIELDS[field].what);
    write_text(&w, symbol->evidence > 0 ? " speak for spam" : " speak for ham");
    if (symbol->option[0] != '\0')
        write_text(&w, ": ");
    write_bytes(&w, symbol->option, strnlen(symbol->option, TOKENS)); /* fits */
}

/* Adds a symbol for each field of the mail that has much evidence. */
static void add_evidence(const struct nb_verdict *verdict, double sign, uint64_t most,
                         struct nb_filter_report *report)
{
    struct naming namings[NB_FIELDS] = {{.symbol = NULL}};
    for (unsigned field = 0; field < NB_FIELDS && most > 0; field++) {
        double log_odds = sign * finite_log_odds(verdict->field_evidence[field]);
        if (fabs(log_odds) < LOG_ODDS_STRONG)
            continue;
        namings[field].is_positive = verdict->field_evidence[field] > 0;
        namings[field].symbol = filter_add_symbol(report, FIELDS[field].symbol, log_odds);
    }
    name_tokens(verdict, most, namings);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        if (namings[field].symbol != NULL)
            describe(field, namings[field].symbol);
}

/* Evidence speaks for the winner against the runner-up. Returns 1 if only the winner is spam, -1 if
 * only the runner-up is spam, and 0 if both or neither are: then evidence says nothing about
 * spam. */
static int sign_of_evidence(const struct nb_config *config, const struct nb_verdict *verdict)
{
    size_t best = verdict->best, second = verdict->size;
    assert(best < verdict->size);
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

void nb_filter_report_verdict(const struct nb_config *config, const struct nb_verdict *verdict,
                              const struct nb_filter_spam *spam, struct nb_filter_report *report)
{
    assert(spam->is_known && spam->has_others); /* else the caller reports that it is not ready */
    double p = spam->probability;
    bool is_none = nb_verdict_is_none(verdict, verdict->min_known);
    bool is_spam = !is_none && nb_filter_action_at(config, p) != NB_FILTER_NO_ACTION;
    bool is_unsure = !is_spam && (is_none || p >= config->filter_unsure);
    report->is_ready = true;
    report->probability = p;
    /* Clients with bounds of their own would take a score above 0 for some doubt about spam. */
    report->log_odds = is_none ? fmin(nb_filter_log_odds(p), 0) : nb_filter_log_odds(p);
    if (is_none)
        report->note = ", none of the labels";
    report->action = is_none ? NB_FILTER_NO_ACTION : nb_filter_action_of(config, spam);
    report->status = is_spam ? "spam" : is_unsure ? "unsure" : "ham";
    struct nb_filter_symbol *symbol = filter_add_symbol(report,
                                                        is_spam     ? "BAYES_SPAM"
                                                        : is_unsure ? "BAYES_UNSURE"
                                                                    : "BAYES_HAM",
                                                        0);
    struct writing w = write_description(symbol);
    char number[NB_NUMBER_TEXT];
    write_text(&w, "Probability of spam ");
    write_bytes(&w, number, (size_t)(nb_number_text_fixed(number, p, 4, false) - number));
    if (is_spam && spam->count > 1)
        filter_copy_clean(nb_string_of(spam->label), symbol->option, sizeof symbol->option);
    int sign = sign_of_evidence(config, verdict);
    if (sign != 0)
        add_evidence(verdict, sign, config->filter_evidence, report);
}

void nb_filter_report_not_ready(const char *missing, const char *note,
                                struct nb_filter_report *report)
{
    report->status = "unsure";
    report->note = note;
    report->probability = 0.5;
    struct nb_filter_symbol *symbol = filter_add_symbol(report, "BAYES_NOT_READY", 0);
    (void)snprintf(symbol->description, sizeof symbol->description, "Too little training: %s",
                   missing);
}

int nb_filter_status(const struct nb_filter_report *report, struct nb_buffer *out)
{
    bool is_ham = strcmp(report->status, "ham") == 0;
    double p = is_ham ? 1 - report->probability : report->probability;
    char number[NB_NUMBER_TEXT];
    size_t start = out->length;
    int rc = nb_buffer_puts(out, report->status);
    if (rc == 0)
        rc = nb_buffer_puts(out, ", probability=");
    if (rc == 0)
        rc = nb_buffer_append(out, number,
                              (size_t)(nb_number_text_fixed(number, p, 4, false) - number));
    if (rc == 0)
        rc = nb_buffer_puts(out, ", model=");
    if (rc == 0)
        rc = nb_buffer_puts(out, report->model);
    if (rc == 0)
        rc = nb_buffer_puts(out, report->note);
    if (rc != 0)
        out->length = start;
    return rc;
}

/* The test patterns, by the letter before the common pattern. */
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

bool nb_filter_find_test(const struct nb_config *config, struct nb_string mail,
                         enum nb_filter_action *action)
{
    static const char PATTERN[] =
        "JS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X";
    size_t most = (size_t)config->mail_bytes;
    const char *end = mail.bytes + (mail.length < most ? mail.length : most);
    const char *at = mail.bytes + 1; /* behind the letter that precedes the pattern */
    while (at < end && (at = memmem(at, (size_t)(end - at), PATTERN, sizeof PATTERN - 1)) != NULL) {
        if (take_test(at[-1], config->filter_test_patterns, action))
            return true;
        at += sizeof PATTERN - 1;
    }
    return false;
}

void nb_filter_report_test(const struct nb_config *config, enum nb_filter_action action,
                           struct nb_filter_report *report)
{
    report->is_test = true;
    report->action = action;
    report->note = ", test mail";
    report->status = action == NB_FILTER_NO_ACTION ? "ham" : "spam";
    report->probability = action == NB_FILTER_NO_ACTION ? 0 : 1;
    /* Some clients look at the score and not at the action. */
    report->log_odds = action == NB_FILTER_REJECT ? nb_filter_log_odds_at(config->filter_reject)
                       : action == NB_FILTER_NO_ACTION
                           ? 0
                           : nb_filter_log_odds_at(config->filter_add_header);
    (void)snprintf(report->model, sizeof report->model, "%s", config->filter_model);
    struct nb_filter_symbol *symbol = filter_add_symbol(report, "GTUBE", 0);
    (void)snprintf(symbol->description, sizeof symbol->description,
                   "Generic Test for Unsolicited Bulk Email");
}
