/* SPDX-License-Identifier: Apache-2.0
 *
 * What bogofilter does not count and every mail has: marks, words of one and two characters (its
 * tokens have three at least), "by" and "id" of Received. To a model made of its list they would be
 * unheard of, and a few mails of one label learned then would make each of them tell that label. So
 * they begin as what they are: equally often in both labels.
 *
 * Measured with a list of 3,000 messages: of 1,027 ham 5 are over 0.5 (none over 0.9). After 20
 * more spam and no ham were learned they are 40 (1 over 0.9), and without these rows 405 (158).
 */
#include <stdio.h>
#include <string.h>

#include "server/client/bogofilter.h"

/* Parts of the messages; what matters is that there are some dozens. */
#define PART_OF_MARKS 0.1
#define PART_OF_SHORT_WORDS 0.03

enum { MARKS_IN_A_ROW = 3 };

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz";
static const char CAPITALS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char DIGITS[] = "0123456789";
static const char MARKS[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

static int add(struct nb_bogofilter *list, enum nb_field field, const char *prefix,
               const char *word, double part)
{
    char text[32];
    uint32_t row;
    int length = snprintf(text, sizeof text, "%s%s", prefix, word);
    struct nb_string s = {text, (size_t)length};
    uint64_t id = nb_feature_id(field, nb_key_hash(&list->key, s.bytes, s.length));
    if (nb_model_find(list->rows, id) != NB_NO_ROW)
        return 0; /* the list has it after all */
    int rc = nb_bogofilter_add_row(list, id, s, &row);
    for (size_t i = 0; rc == 0 && i < NB_BOGOFILTER_LABELS; i++)
        list->documents[row][i] = (uint32_t)((double)list->messages[i] * part + 0.5);
    return rc;
}

/* Words of a character of `first` and, unless it is empty, one of `second`. */
static int add_pairs(struct nb_bogofilter *list, enum nb_field field, const char *prefix,
                     const char *first, const char *second)
{
    int rc = 0;
    for (const char *a = first; *a != '\0'; a++) {
        const char *b = second;
        do {
            const char word[] = {*a, *b, '\0'};
            rc = add(list, field, prefix, word, *b != '\0' ? PART_OF_SHORT_WORDS : PART_OF_MARKS);
        } while (rc == 0 && *b != '\0' && *++b != '\0');
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_marks(struct nb_bogofilter *list, enum nb_field field, const char *prefix)
{
    int rc = 0;
    for (const char *mark = MARKS; rc == 0 && *mark != '\0'; mark++) {
        char run[MARKS_IN_A_ROW + 1] = {0};
        for (size_t i = 0; rc == 0 && i < MARKS_IN_A_ROW; i++) {
            run[i] = *mark;
            rc = add(list, field, prefix, run, PART_OF_MARKS);
        }
    }
    return rc;
}

static int add_text(struct nb_bogofilter *list, enum nb_field field, const char *prefix)
{
    int rc = add_marks(list, field, prefix);
    if (rc == 0)
        rc = add_pairs(list, field, prefix, LETTERS, "");
    if (rc == 0)
        rc = add_pairs(list, field, prefix, DIGITS, "");
    if (rc == 0)
        rc = add_pairs(list, field, prefix, LETTERS, LETTERS);
    return rc != 0 ? rc : add_pairs(list, field, prefix, DIGITS, DIGITS);
}

int nb_bogofilter_add_neutral(struct nb_bogofilter *list)
{
    int rc = add_text(list, NB_FIELD_BODY, "");
    if (rc == 0)
        rc = add_text(list, NB_FIELD_SUBJECT, "subject:");
    if (rc == 0)
        rc = add_pairs(list, NB_FIELD_CASE, "case:", CAPITALS, "");
    if (rc == 0)
        rc = add_pairs(list, NB_FIELD_CASE, "case:", CAPITALS, LETTERS);
    if (rc == 0)
        rc = add_pairs(list, NB_FIELD_CASE, "case:", CAPITALS, CAPITALS);
    if (rc == 0)
        rc = add(list, NB_FIELD_RECEIVED, "received:", "by", 1);
    return rc != 0 ? rc : add(list, NB_FIELD_RECEIVED, "received:", "id", 1);
}
