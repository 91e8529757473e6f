/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/bogofilter.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/pack.h"
#include "server/client/wordlist.h"
#include "tokenizer/mail/mail_received.h"
#include "tokenizer/text/text.h"

enum {
    MESSAGES_MOST = 10000000, /* each becomes a document: beyond, a dump would have gigabytes */
    ROWS_OF_DOCUMENT = 500000 /* a document's line stays below the daemon's limit of 16 MiB */
};

static const struct {
    const char *name, *text;
} LOSSES[NB_LOSSES] = {
    [NB_LOSS_MALFORMED] = {"malformed", "no line of a word list"},
    [NB_LOSS_TOO_HIGH] = {"too_high", "counted in more messages than there are"},
    [NB_LOSS_UNUSED] = {"unused", "counted in no message"},
    [NB_LOSS_FROM] = {"from", "from:"},
    [NB_LOSS_TO] = {"to", "to:"},
    [NB_LOSS_RETURN] = {"rtrn", "rtrn:"},
    [NB_LOSS_HEAD] = {"head", "head:, of an unknown header field"},
    [NB_LOSS_MIME] = {"mime", "mime:"},
    [NB_LOSS_URL] = {"url", "url:"},
    [NB_LOSS_IP] = {"ip", "ip:"},
    [NB_LOSS_NO_WORD] = {"no_word", "no word"},
};

const char *nb_bogofilter_loss_name(enum nb_bogofilter_loss loss)
{
    return LOSSES[loss].name;
}

const char *nb_bogofilter_loss_text(enum nb_bogofilter_loss loss)
{
    return LOSSES[loss].text;
}

/* ---- tokens to features ---------------------------------------------------------------------- */

/* bogofilter's prefixes (its lexer.c), and what the tokenizer calls the same words. Those of
 * addresses are left out though the tokenizer has the words: in a mail it adds much that no list
 * has (whole addresses and domains, other fields), and after a few mails of one label were learned
 * all of that would speak for that label. Measured: after 20 spam and no ham, 543 of 1,027 ham are
 * over 0.5 with them, 52 without. */
static const struct prefix {
    const char *theirs, *ours;
    enum nb_field field;
    enum nb_bogofilter_loss loss; /* with `ours` NULL */
} PREFIXES[] = {
    {"subj:", "subject:", NB_FIELD_SUBJECT, NB_LOSSES},
    {"rcvd:", "", NB_FIELD_RECEIVED, NB_LOSSES},
    {"from:", NULL, NB_FIELD_ADDRESS, NB_LOSS_FROM},
    {"to:", NULL, NB_FIELD_ADDRESS, NB_LOSS_TO},
    {"rtrn:", NULL, NB_FIELD_ADDRESS, NB_LOSS_RETURN},
    {"head:", NULL, NB_FIELD_HEADER, NB_LOSS_HEAD},
    {"mime:", NULL, NB_FIELD_STRUCTURE, NB_LOSS_MIME},
    {"url:", NULL, NB_FIELD_URL, NB_LOSS_URL},
    {"ip:", NULL, NB_FIELD_URL, NB_LOSS_IP},
    {"", "", NB_FIELD_BODY, NB_LOSSES},
};

static const struct nb_tokenizer_settings FIELDS = {.fields = NB_BOGOFILTER_FIELDS};

/* What is read: the list, and what lives only as long. */
struct reading {
    struct nb_bogofilter *list;
    struct nb_word_reader lines;
    struct nb_bag bag;        /* of one token */
    struct nb_buffer waiting; /* lines from before the number of messages was known */
    bool has_messages;
};

static void lose(struct nb_bogofilter *list, enum nb_bogofilter_loss loss, uint64_t line)
{
    struct nb_bogofilter_losses *losses = &list->losses[loss];
    if (losses->count < NB_LOSS_LINES)
        losses->lines[losses->count] = line;
    losses->count++;
}

static const struct prefix *prefix_of(struct nb_string token)
{
    const struct prefix *p = PREFIXES;
    size_t length;
    while ((length = strlen(p->theirs)) > 0 &&
           (token.length < length || memcmp(token.bytes, p->theirs, length) != 0))
        p++;
    return p;
}

static int tokenize(struct reading *reading, const struct prefix *prefix, struct nb_string token)
{
    static const struct nb_tokenizer_limits limits = {.tokens = NB_WORD_LINE};
    size_t length = strlen(prefix->theirs);
    struct nb_string word = {token.bytes + length, token.length - length};
    struct nb_tokenizing t = {.key = &reading->list->key,
                              .settings = &FIELDS,
                              .limits = &limits,
                              .bag = &reading->bag,
                              .tokens_left = limits.tokens};
    nb_bag_reset(&reading->bag);
    if (prefix->field == NB_FIELD_RECEIVED)
        return nb_mail_received(&t, word);
    return nb_tokenize_text(&t, prefix->field, prefix->ours, word.bytes, word.length);
}

static bool is_letter_or_digit(char c)
{
    return (c & 0x80) != 0 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* Not a mark: the tokenizer counts marks wherever they stand, bogofilter only inside of words. */
static bool is_word(enum nb_field field, struct nb_string text)
{
    if (field == NB_FIELD_RECEIVED) /* hosts and networks, which may end in marks */
        return true;
    const char *colon = memrchr(text.bytes, ':', text.length);
    size_t from = colon != NULL ? (size_t)(colon + 1 - text.bytes) : 0;
    return from < text.length && is_letter_or_digit(text.bytes[from]);
}

/* ---- counting -------------------------------------------------------------------------------- */

int nb_bogofilter_add_row(struct nb_bogofilter *list, uint64_t id, struct nb_string text,
                          uint32_t *row)
{
    int rc = nb_model_append(list->rows, id, row);
    struct nb_packer w = {.out = &list->texts};
    if (rc == 0 && *row >= list->room) {
        size_t room = list->room == 0 ? 4096 : list->room * 2;
        void *documents = realloc(list->documents, room * sizeof *list->documents);
        if (documents == NULL)
            return NB_NO_MEMORY;
        list->documents = documents;
        list->room = room;
    }
    if (rc != 0)
        return rc;
    memset(list->documents[*row], 0, sizeof list->documents[*row]);
    nb_pack_string(&w, text);
    return w.code;
}

/* Several tokens may be one feature (Free, FREE): their messages are added up, as if no message had
 * both. Measured against what is likely by chance (a + b - ab/M): no difference; against the larger
 * of the two: better. */
static void add_messages(const struct nb_bogofilter *list, uint32_t row,
                         const struct nb_word_line *line)
{
    uint64_t more[NB_BOGOFILTER_LABELS] = {
        [NB_BOGOFILTER_SPAM] = line->spam, [NB_BOGOFILTER_HAM] = line->ham};
    for (size_t i = 0; i < NB_BOGOFILTER_LABELS; i++) {
        uint64_t sum = list->documents[row][i] + more[i];
        list->documents[row][i] = (uint32_t)(sum < list->messages[i] ? sum : list->messages[i]);
    }
}

static int count(struct reading *reading, const struct nb_word_line *line, uint64_t number)
{
    struct nb_bogofilter *list = reading->list;
    const struct prefix *prefix = prefix_of(line->token);
    bool is_any = false;
    if (prefix->ours == NULL) {
        lose(list, prefix->loss, number);
        return 0;
    }
    int rc = tokenize(reading, prefix, line->token);
    for (size_t i = 0; rc == 0 && i < reading->bag.size; i++) {
        uint64_t id = reading->bag.features[i].id;
        uint32_t row = nb_model_find(list->rows, id);
        if (!is_word(prefix->field, reading->bag.texts[i]))
            continue;
        if (row == NB_NO_ROW)
            rc = nb_bogofilter_add_row(list, id, reading->bag.texts[i], &row);
        if (rc != 0)
            break;
        add_messages(list, row, line);
        is_any = true;
    }
    if (is_any)
        list->tokens++;
    else if (rc == 0)
        lose(list, NB_LOSS_NO_WORD, number);
    return rc;
}

static int take(struct reading *reading, const struct nb_word_line *line, uint64_t number)
{
    struct nb_bogofilter *list = reading->list;
    if (line->spam > list->messages[NB_BOGOFILTER_SPAM] ||
        line->ham > list->messages[NB_BOGOFILTER_HAM])
        lose(list, NB_LOSS_TOO_HIGH, number);
    else if (line->spam == 0 && line->ham == 0)
        lose(list, NB_LOSS_UNUSED, number);
    else
        return count(reading, line, number);
    return 0;
}

/* ---- what the list says of itself ------------------------------------------------------------ */

/* Lists are sorted, and '!' and '$' sort before '.': some tokens come before the messages. */
static int put_off(struct reading *reading, const struct nb_word_line *line)
{
    struct nb_packer w = {.out = &reading->waiting};
    nb_pack_varint(&w, reading->lines.number);
    nb_pack_varint(&w, line->spam);
    nb_pack_varint(&w, line->ham);
    nb_pack_string(&w, line->token);
    return w.code;
}

static int take_waiting(struct reading *reading)
{
    struct nb_unpacker r = nb_unpacker_of(reading->waiting.bytes, reading->waiting.length);
    int rc = 0;
    while (rc == 0 && r.at < r.end) {
        uint64_t number = nb_unpack_varint(&r);
        struct nb_word_line line = {.spam = (uint32_t)nb_unpack_varint(&r),
                                    .ham = (uint32_t)nb_unpack_varint(&r)};
        line.token = nb_unpack_string(&r);
        rc = take(reading, &line, number);
    }
    nb_buffer_deinit(&reading->waiting);
    return rc;
}

/* yyyymmdd, noon UTC; a list may be without dates. */
static int64_t moment_of(uint32_t date)
{
    struct tm tm = {.tm_year = (int)(date / 10000) - 1900,
                    .tm_mon = (int)(date / 100 % 100) - 1,
                    .tm_mday = (int)(date % 100),
                    .tm_hour = 12};
    int64_t now = nb_clock_now();
    int64_t moment = (int64_t)timegm(&tm) * 1000;
    return date >= 19700101 && moment <= now ? moment : now;
}

static int take_messages(struct reading *reading, const struct nb_word_line *line,
                         struct nb_error *error)
{
    struct nb_bogofilter *list = reading->list;
    uint64_t number = reading->lines.number;
    if (reading->has_messages) {
        lose(list, NB_LOSS_MALFORMED, number);
        return 0;
    }
    reading->has_messages = true;
    list->messages[NB_BOGOFILTER_SPAM] = line->spam;
    list->messages[NB_BOGOFILTER_HAM] = line->ham;
    list->learned = moment_of(line->date);
    uint64_t all = (uint64_t)line->spam + line->ham;
    if (all > MESSAGES_MOST)
        return nb_error_set(error, NB_TOO_LARGE,
                            "line %ju: the list has %ju messages, more than %d cannot be imported",
                            (uintmax_t)number, (uintmax_t)all, MESSAGES_MOST);
    if (all == 0)
        return nb_error_set(error, NB_INVALID, "line %ju: the list has no messages",
                            (uintmax_t)number);
    return take_waiting(reading) == 0 ? 0 : nb_error_no_memory(error);
}

static bool is(struct nb_string token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.bytes, text, token.length) == 0;
}

/* Entries with a point in front are about the list. The other two need not be heeded: whatever
 * .ENCODING says, bytes that are not UTF-8 are read as the tokenizer reads them in mails, and
 * .WORDLIST_VERSION is about the data base; .ROBX is a constant of bogofilter's formula. */
static bool is_about_list(struct nb_string token)
{
    return is(token, ".ENCODING") || is(token, ".WORDLIST_VERSION") || is(token, ".ROBX");
}

static int take_line(struct reading *reading, const struct nb_word_line *line,
                     struct nb_error *error)
{
    if (is(line->token, ".MSG_COUNT"))
        return take_messages(reading, line, error);
    if (is_about_list(line->token))
        return 0;
    int rc =
        reading->has_messages ? take(reading, line, reading->lines.number) : put_off(reading, line);
    if (rc == NB_TOO_LARGE)
        return nb_error_set(error, rc, "line %ju: the list has too many words",
                            (uintmax_t)reading->lines.number);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int check(const struct reading *reading, struct nb_error *error)
{
    const struct nb_bogofilter *list = reading->list;
    uint64_t sums[NB_BOGOFILTER_LABELS] = {0};
    if (ferror(reading->lines.in))
        return nb_error_set(error, NB_IO, "the word list cannot be read to its end");
    if (!reading->has_messages)
        return nb_error_set(error, NB_INVALID,
                            "neither a dump of bayesc export nor of bogoutil -d: a word list has a "
                            "line .MSG_COUNT with the numbers of messages");
    for (uint32_t row = 0; row < nb_model_rows(list->rows); row++)
        for (size_t i = 0; i < NB_BOGOFILTER_LABELS; i++)
            sums[i] += list->documents[row][i];
    for (size_t i = 0; i < NB_BOGOFILTER_LABELS; i++)
        if (sums[i] > list->messages[i] * ROWS_OF_DOCUMENT)
            return nb_error_set(error, NB_INVALID,
                                "a message of the list has over %d words on average: its "
                                ".MSG_COUNT cannot be right",
                                ROWS_OF_DOCUMENT);
    return 0;
}

static int read_lines(struct reading *reading, struct nb_error *error)
{
    struct nb_word_line line;
    enum nb_word_line_kind kind;
    bool is_first = true;
    int rc = 0;
    while (rc == 0 && (kind = nb_word_line_read(&reading->lines, &line)) != NB_WORD_LINE_END) {
        const char *foreign = is_first ? nb_word_list_foreign(&reading->lines) : NULL;
        is_first = false;
        if (foreign != NULL)
            return nb_error_set(error, NB_UNSUPPORTED, "%s", foreign);
        if (kind == NB_WORD_LINE_MALFORMED)
            lose(reading->list, NB_LOSS_MALFORMED, reading->lines.number);
        else
            rc = take_line(reading, &line, error);
    }
    if (rc == 0)
        rc = check(reading, error);
    return rc != 0 || nb_bogofilter_add_neutral(reading->list) == 0 ? rc
                                                                    : nb_error_no_memory(error);
}

int nb_bogofilter_read(FILE *in, struct nb_bogofilter *list, struct nb_error *error)
{
    struct reading reading = {.list = list, .lines = {.in = in}};
    *list = (struct nb_bogofilter){.rows = nb_model_new()};
    nb_key_generate(&list->key);
    int rc = list->rows != NULL ? read_lines(&reading, error) : nb_error_no_memory(error);
    nb_bag_deinit(&reading.bag);
    nb_buffer_deinit(&reading.waiting);
    return rc;
}

void nb_bogofilter_deinit(struct nb_bogofilter *list)
{
    nb_model_free(&list->rows);
    free(list->documents);
    nb_buffer_deinit(&list->texts);
    *list = (struct nb_bogofilter){.rows = NULL};
}
