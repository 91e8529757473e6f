/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/bogofilter/bogofilter.h"

#include <string.h>
#include <time.h>

#include "core/base/buffer.h"
#include "core/base/system.h"

/* ---- lines ----------------------------------------------------------------------------------- */

/* Reads a line without its end; false at the end of the file. */
static bool next_line(struct nb_wordlist_reader *r)
{
    int c = EOF;
    bool has_any = false;
    r->length = 0;
    r->is_cut = false;
    while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
        has_any = true;
        if (r->length < sizeof r->line)
            r->line[r->length++] = (char)c;
        else
            r->is_cut = true;
    }
    if (r->length > 0 && !r->is_cut && r->line[r->length - 1] == '\r')
        r->length--;
    r->number++;
    return has_any || c != EOF;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* Reads digits up to a blank or the end, at most 2^32 - 1, and moves *at past the blanks that
 * follow them. */
static bool take_number(const char **at, const char *end, uint32_t *number)
{
    uint64_t value = 0;
    const char *p = *at;
    for (; p < end && *p >= '0' && *p <= '9' && value <= UINT32_MAX; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    bool is_number = p > *at && (p == end || is_blank(*p)) && value <= UINT32_MAX;
    *at = skip_blanks(p, end);
    *number = (uint32_t)value;
    return is_number;
}

static bool take_line(const struct nb_wordlist_reader *r, struct nb_wordlist_line *line)
{
    const char *at = r->line;
    const char *end = r->line + r->length;
    while (at < end && !is_blank(*at) && *at != '\0')
        at++;
    line->token = (struct nb_string){r->line, (size_t)(at - r->line)};
    line->date = 0;
    if (r->is_cut || line->token.length == 0)
        return false;
    at = skip_blanks(at, end);
    return take_number(&at, end, &line->spam) && take_number(&at, end, &line->ham) &&
           (at == end || take_number(&at, end, &line->date)) && at == end;
}

enum nb_wordlist_kind nb_wordlist_read(struct nb_wordlist_reader *reader,
                                       struct nb_wordlist_line *line)
{
    do {
        if (!next_line(reader))
            return NB_WORDLIST_END;
    } while (reader->length == 0);
    return take_line(reader, line) ? NB_WORDLIST_COUNTS : NB_WORDLIST_MALFORMED;
}

/* ---- files of other programs ----------------------------------------------------------------- */

#define TRAIN_INSTEAD "cannot be imported; train from the mails themselves (bayesc train)"
#define TEXT_INSTEAD "if it is bogofilter's word list: bogoutil -d FILE | bayesc import"

static const struct {
    size_t offset;
    const char *bytes;
    const char *advice;
} FOREIGN[] = {
    {0, "v\t",
     "this is what sa-learn --backup writes: SpamAssassin keeps hashes of its tokens and not the "
     "words, so it " TRAIN_INSTEAD},
    {0, "REDIS",
     "this is a Redis dump: rspamd keeps hashes of pairs of words in it and not the words, so "
     "it " TRAIN_INSTEAD},
    {0, "*2", /* append-only file: "*2\r\n$6\r\nSELECT" */
     "this is a Redis log: rspamd keeps hashes of pairs of words in it and not the words, so "
     "it " TRAIN_INSTEAD},
    {0, "SQLite format 3", "this is an SQLite database; " TEXT_INSTEAD},
    {12, "\x62\x31\x05", "this is a Berkeley database; " TEXT_INSTEAD}, /* magic 0x00053162 */
    {0, "\x1f\x8b", "this is compressed: unpack it first (gzip -dc)"},
    {0, "\x28\xb5\x2f\xfd", "this is compressed: unpack it first (zstd -dc)"},
};

/* Returns whether the line comes from spamprobe: `good,spam,days,"term"`. */
static bool is_spamprobe(const char *line, size_t length)
{
    size_t commas = 0, i = 0;
    for (; i < length && (line[i] == ',' || (line[i] >= '0' && line[i] <= '9')); i++)
        commas += line[i] == ',';
    return commas == 3 && i < length && line[i] == '"';
}

/* Call after the first line was read. Recognizes files that belong to a mail filter and cannot be
 * imported (SpamAssassin's, spamprobe's, rspamd's; a database; a compressed file). Returns the
 * reason as a sentence, static, or NULL. */
static const char *wordlist_foreign(const struct nb_wordlist_reader *reader)
{
    for (size_t i = 0; i < sizeof FOREIGN / sizeof FOREIGN[0]; i++) {
        size_t length = strlen(FOREIGN[i].bytes);
        if (reader->length >= FOREIGN[i].offset + length &&
            memcmp(reader->line + FOREIGN[i].offset, FOREIGN[i].bytes, length) == 0)
            return FOREIGN[i].advice;
    }
    if (is_spamprobe(reader->line, reader->length))
        return "this is what spamprobe export writes: its terms and counts are not those of a "
               "message's words, so it " TRAIN_INSTEAD;
    return NULL;
}

enum {
    MESSAGES_MOST = 10000000,  /* each becomes a document: more would make a dump of gigabytes */
    ROWS_OF_DOCUMENT = 500000, /* a line of the dump stays below the daemon's limit of 16 MiB */
    EMPTY_MOST = 1000          /* messages without a token, as in a list of a few lines */
};

/* The state while a list is read. */
struct reading {
    struct nb_bogofilter_list *list; /* borrowed */
    struct nb_wordlist_reader lines;
    struct nb_bag bag;        /* owned: of one token */
    struct nb_buffer waiting; /* owned: lines before the one with the numbers of messages */
    bool has_messages;
    uint64_t counted[NB_BOGOFILTER_LABELS]; /* sums over all tokens, including those left out */
};

/* ---- counting -------------------------------------------------------------------------------- */

/* Several tokens may become one feature (Free, FREE). Their message counts are added up, as if no
 * message had both. Measured: the sum expected by chance (a + b - ab/M) is no better, the larger of
 * the two is worse. */
static void add_messages(const struct nb_bogofilter_list *list, uint32_t row,
                         const struct nb_wordlist_line *line)
{
    uint64_t more[NB_BOGOFILTER_LABELS] = {
        [NB_BOGOFILTER_SPAM] = line->spam, [NB_BOGOFILTER_HAM] = line->ham};
    for (size_t i = 0; i < NB_BOGOFILTER_LABELS; i++) {
        uint64_t sum = list->documents[row][i] + more[i];
        list->documents[row][i] = (uint32_t)(sum < list->messages[i] ? sum : list->messages[i]);
    }
}

/* Counts a feature of a token. Returns 0, NB_TOO_LARGE or NB_NO_MEMORY. */
static int count_feature(struct nb_bogofilter_list *list, uint64_t id, struct nb_string text,
                         const struct nb_wordlist_line *line)
{
    uint32_t row = nb_model_find(list->rows, id);
    int rc = row == NB_NO_ROW ? nb_bogofilter_list_add(list, id, text, &row) : 0;
    if (rc == 0)
        add_messages(list, row, line);
    return rc;
}

static int count(struct reading *reading, const struct nb_wordlist_line *line, uint64_t number)
{
    struct nb_bogofilter_list *list = reading->list;
    const struct nb_bag *bag = &reading->bag;
    enum nb_bogofilter_loss loss;
    size_t words = 0;
    int rc = nb_bogofilter_features(line->token, &list->key, &reading->bag, &loss);
    for (size_t i = 0; rc == 0 && i < bag->size; i++) {
        if (!nb_bogofilter_is_word(bag->features[i].id, bag->texts[i]))
            continue;
        rc = count_feature(list, bag->features[i].id, bag->texts[i], line);
        words++;
    }
    list->tokens += words > 0;
    if (words == 0 && rc == 0)
        nb_bogofilter_list_lose(list, loss, number);
    return rc;
}

static int take(struct reading *reading, const struct nb_wordlist_line *line, uint64_t number)
{
    struct nb_bogofilter_list *list = reading->list;
    if (line->spam > list->messages[NB_BOGOFILTER_SPAM] ||
        line->ham > list->messages[NB_BOGOFILTER_HAM]) {
        nb_bogofilter_list_lose(list, NB_LOSS_TOO_HIGH, number);
        return 0;
    }
    if (line->spam == 0 && line->ham == 0) {
        nb_bogofilter_list_lose(list, NB_LOSS_UNUSED, number);
        return 0;
    }
    reading->counted[NB_BOGOFILTER_SPAM] += line->spam;
    reading->counted[NB_BOGOFILTER_HAM] += line->ham;
    return count(reading, line, number);
}

/* ---- entries about the list itself ----------------------------------------------------------- */

/* Lists are sorted by bytes: tokens that begin with '!' or '$' come before .MSG_COUNT, the line
 * with the numbers of messages. They are kept until that line has been read. */
static int put_off(struct reading *reading, const struct nb_wordlist_line *line)
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
        struct nb_wordlist_line line = {.spam = (uint32_t)nb_unpack_varint(&r),
                                        .ham = (uint32_t)nb_unpack_varint(&r)};
        line.token = nb_unpack_string(&r);
        rc = take(reading, &line, number);
    }
    nb_buffer_deinit(&reading->waiting);
    return rc;
}

/* Returns noon UTC of the date yyyymmdd, in ms since 1970; the present time if the date is missing
 * or impossible. */
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

static int take_messages(struct reading *reading, const struct nb_wordlist_line *line,
                         struct nb_error *error)
{
    struct nb_bogofilter_list *list = reading->list;
    uint64_t number = reading->lines.number;
    if (reading->has_messages) {
        nb_bogofilter_list_lose(list, NB_LOSS_MALFORMED, number);
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

/* Returns whether an entry is about the list itself and can be ignored. .ENCODING: bytes that are
 * not UTF-8 are read as the tokenizer reads them in mails. .WORDLIST_VERSION is the version of the
 * data base, .ROBX is a constant of bogofilter's formula. */
static bool is_about_list(struct nb_string token)
{
    return nb_string_equals(token, ".ENCODING") || nb_string_equals(token, ".WORDLIST_VERSION") ||
           nb_string_equals(token, ".ROBX");
}

static int bogofilter_read_take_line(struct reading *reading, const struct nb_wordlist_line *line,
                                     struct nb_error *error)
{
    if (nb_string_equals(line->token, ".MSG_COUNT"))
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

/* Refuses a list with too few tokens for its messages. Every message has a token and becomes a
 * document: without this bound a list of one line could become millions of documents. */
static int check_few(const struct reading *reading, struct nb_error *error)
{
    static const char *const NAMES[NB_BOGOFILTER_LABELS] = {
        [NB_BOGOFILTER_HAM] = "ham", [NB_BOGOFILTER_SPAM] = "spam"};
    for (size_t i = 0; i < NB_BOGOFILTER_LABELS; i++)
        if (reading->counted[i] + EMPTY_MOST < reading->list->messages[i])
            return nb_error_set(error, NB_INVALID,
                                "by its .MSG_COUNT the list has %ju messages of %s, but its tokens "
                                "were in at most %ju: the list is cut, or the number is wrong",
                                (uintmax_t)reading->list->messages[i], NAMES[i],
                                (uintmax_t)reading->counted[i]);
    return 0;
}

static int check_many(const struct nb_bogofilter_list *list, struct nb_error *error)
{
    uint64_t sums[NB_BOGOFILTER_LABELS] = {0};
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

static int check(const struct reading *reading, struct nb_error *error)
{
    if (ferror(reading->lines.in))
        return nb_error_set(error, NB_IO, "the word list cannot be read to its end");
    if (!reading->has_messages)
        return nb_error_set(error, NB_INVALID,
                            "neither a dump of bayesc export nor of bogoutil -d: a word list has a "
                            "line .MSG_COUNT with the numbers of messages");
    int rc = check_few(reading, error);
    return rc == 0 ? check_many(reading->list, error) : rc;
}

static int read_lines(struct reading *reading, struct nb_error *error)
{
    struct nb_wordlist_line line;
    enum nb_wordlist_kind kind;
    bool is_first = true;
    int rc = 0;
    while (rc == 0 && (kind = nb_wordlist_read(&reading->lines, &line)) != NB_WORDLIST_END) {
        const char *foreign = is_first ? wordlist_foreign(&reading->lines) : NULL;
        is_first = false;
        if (foreign != NULL)
            return nb_error_set(error, NB_UNSUPPORTED, "%s", foreign);
        if (kind == NB_WORDLIST_MALFORMED)
            nb_bogofilter_list_lose(reading->list, NB_LOSS_MALFORMED, reading->lines.number);
        else
            rc = bogofilter_read_take_line(reading, &line, error);
    }
    if (rc == 0)
        rc = check(reading, error);
    return rc != 0 || nb_bogofilter_add_neutral(reading->list) == 0 ? rc
                                                                    : nb_error_no_memory(error);
}

int nb_bogofilter_read(FILE *in, struct nb_bogofilter_list *list, struct nb_error *error)
{
    struct reading reading = {.list = list, .lines = {.in = in}};
    int rc = nb_bogofilter_list_init(list) == 0 ? read_lines(&reading, error)
                                                : nb_error_no_memory(error);
    nb_bag_deinit(&reading.bag);
    nb_buffer_deinit(&reading.waiting);
    return rc;
}
