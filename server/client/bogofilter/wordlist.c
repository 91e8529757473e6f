/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/bogofilter/wordlist.h"

#include <string.h>

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

/* Reads digits up to a blank or the end, at most 2^32 - 1, and moves *at behind the blanks after
 * them. */
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

/* ---- files of others ------------------------------------------------------------------------- */

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

/* Whether the line is one of spamprobe: `good,spam,days,"term"`. */
static bool is_spamprobe(const char *line, size_t length)
{
    size_t commas = 0, i = 0;
    for (; i < length && (line[i] == ',' || (line[i] >= '0' && line[i] <= '9')); i++)
        commas += line[i] == ',';
    return commas == 3 && i < length && line[i] == '"';
}

const char *nb_wordlist_foreign(const struct nb_wordlist_reader *reader)
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
