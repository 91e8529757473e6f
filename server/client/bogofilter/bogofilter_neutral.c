/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/bogofilter/bogofilter_neutral.h"

#include <stdio.h>

#include "tokenizer/bag/bag.h"

enum { MARKS_IN_A_ROW = 3 };

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz";
static const char CAPITALS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char DIGITS[] = "0123456789";
static const char MARKS[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

static const struct {
    enum nb_field field;
    const char *prefix;
} TEXTS[] = {{NB_FIELD_BODY, ""}, {NB_FIELD_SUBJECT, "subject:"}};

static int add(struct nb_bag *bag, const struct nb_key *key, enum nb_field field,
               const char *prefix, const char *word)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%s%s", prefix, word);
    return nb_bag_add(bag, key, field, text, (size_t)length);
}

/* Adds all words of one character of `first`, followed by one of `second` unless that is empty. */
static int add_pairs(struct nb_bag *bag, const struct nb_key *key, enum nb_field field,
                     const char *prefix, const char *first, const char *second)
{
    int rc = 0;
    for (const char *a = first; *a != '\0'; a++) {
        const char *b = second;
        do {
            const char word[] = {*a, *b, '\0'};
            rc = add(bag, key, field, prefix, word);
        } while (rc == 0 && *b != '\0' && *++b != '\0');
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_marks(struct nb_bag *bag, const struct nb_key *key, enum nb_field field,
                     const char *prefix)
{
    int rc = 0;
    for (const char *mark = MARKS; rc == 0 && *mark != '\0'; mark++) {
        char run[MARKS_IN_A_ROW + 1] = {0};
        for (size_t i = 0; rc == 0 && i < MARKS_IN_A_ROW; i++) {
            run[i] = *mark;
            rc = add(bag, key, field, prefix, run);
        }
    }
    return rc;
}

/* Marks and words of one character. */
static int fill_frequent(struct nb_bag *bag, const struct nb_key *key)
{
    int rc = add_pairs(bag, key, NB_FIELD_CASE, "case:", CAPITALS, "");
    for (size_t i = 0; rc == 0 && i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        rc = add_marks(bag, key, TEXTS[i].field, TEXTS[i].prefix);
        if (rc == 0)
            rc = add_pairs(bag, key, TEXTS[i].field, TEXTS[i].prefix, LETTERS, "");
        if (rc == 0)
            rc = add_pairs(bag, key, TEXTS[i].field, TEXTS[i].prefix, DIGITS, "");
    }
    return rc;
}

/* Words of two characters. */
static int fill_short(struct nb_bag *bag, const struct nb_key *key)
{
    int rc = add_pairs(bag, key, NB_FIELD_CASE, "case:", CAPITALS, LETTERS);
    if (rc == 0)
        rc = add_pairs(bag, key, NB_FIELD_CASE, "case:", CAPITALS, CAPITALS);
    for (size_t i = 0; rc == 0 && i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        rc = add_pairs(bag, key, TEXTS[i].field, TEXTS[i].prefix, LETTERS, LETTERS);
        if (rc == 0)
            rc = add_pairs(bag, key, TEXTS[i].field, TEXTS[i].prefix, DIGITS, DIGITS);
    }
    return rc;
}

static int fill_everywhere(struct nb_bag *bag, const struct nb_key *key)
{
    int rc = add(bag, key, NB_FIELD_RECEIVED, "received:", "by");
    return rc != 0 ? rc : add(bag, key, NB_FIELD_RECEIVED, "received:", "id");
}

/* Adds rows for those features of the bag that the list does not have, in `part` of all messages.
 */
static int add_rows(struct nb_bogofilter_list *list, const struct nb_bag *bag, double part)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < bag->size; i++) {
        uint64_t id = bag->features[i].id;
        uint32_t row;
        if (nb_model_find(list->rows, id) != NB_NO_ROW)
            continue;
        rc = nb_bogofilter_list_add(list, id, bag->texts[i], &row);
        for (size_t label = 0; rc == 0 && label < NB_BOGOFILTER_LABELS; label++)
            list->documents[row][label] = (uint32_t)((double)list->messages[label] * part + 0.5);
    }
    return rc;
}

int nb_bogofilter_add_neutral(struct nb_bogofilter_list *list)
{
    static const struct {
        int (*fill)(struct nb_bag *bag, const struct nb_key *key);
        double part; /* of the messages; it should make some dozens of them */
    } steps[] = {{fill_frequent, 0.1}, {fill_short, 0.03}, {fill_everywhere, 1}};
    struct nb_bag bag = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof steps / sizeof steps[0]; i++) {
        nb_bag_reset(&bag);
        rc = steps[i].fill(&bag, &list->key);
        if (rc == 0)
            rc = add_rows(list, &bag, steps[i].part);
    }
    nb_bag_deinit(&bag);
    return rc;
}
