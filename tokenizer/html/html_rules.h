/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of a document's style sheets that say whether text can be seen, found by element, class
 * and id. Rules belong to one thread.
 *
 * A rule is found by a hash of its selector, and what it declares is a few bits (html_declared.h):
 * an element takes some look-ups for itself and for each of its classes, whatever the sheets are.
 * Selectors that are kept are bounded; further ones are left out. Two that have the same hash are
 * taken for one, which an attacker can arrange and gains nothing from.
 */
#ifndef NB_TOKENIZER_HTML_HTML_RULES_H
#define NB_TOKENIZER_HTML_HTML_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"
#include "tokenizer/html/html_declared.h"

enum {
    NB_HTML_RULES = 16384,     /* rules that are kept, one for each selector of a list */
    NB_HTML_RULES_FILTER = 512 /* bits */
};

/* A selector: an element, one class or two, an id, or an element with one of these. What is not
 * asked for is empty. */
struct nb_html_selector {
    struct nb_string element, id, classes[2];
};

/* What a rule is for. */
enum nb_html_rule {
    NB_HTML_RULE_NORMAL,
    NB_HTML_RULE_IMPORTANT, /* before the attribute `style` */
    NB_HTML_RULE_SHOWS,     /* for some readers: for them, what it shows is not hidden by others */
    NB_HTML_RULE_MAYBE      /* for some of the elements: their colours are not known */
};

struct nb_html_rules {
    struct nb_html_rule_item *items; /* owned, as they were added */
    size_t count, room;
    struct nb_html_rule_entry *entries; /* owned, sorted: one for each selector */
    size_t entry_count;
    uint64_t filter[NB_HTML_RULES_FILTER / 64]; /* bits of the selectors that are there */
    bool has_pairs;                             /* selectors of two classes */
};

void nb_html_rules_init(struct nb_html_rules *rules);
void nb_html_rules_deinit(struct nb_html_rules *rules);

/* Adds a rule. Nothing is done with a selector that asks for nothing or for more than its kinds
 * allow, or when there are NB_HTML_RULES. Returns 0 or NB_NO_MEMORY. */
int nb_html_rules_add(struct nb_html_rules *rules, const struct nb_html_selector *selector,
                      enum nb_html_rule kind, const struct nb_html_declared *declared);

/* Makes the rules that were added ready to be found. Takes n log n; call it seldom. Returns 0 or
 * NB_NO_MEMORY. */
int nb_html_rules_sort(struct nb_html_rules *rules);

/* What the rules declare of an element. */
struct nb_html_matched {
    struct nb_html_declared normal, important, maybe;
};

/* Finds the rules, sorted before, for an element of these names. `classes` is the attribute as it
 * stands. False if there are none; *matched is not set then. Linear in the length of the names. */
bool nb_html_rules_match(const struct nb_html_rules *rules, struct nb_string element,
                         struct nb_string id, struct nb_string classes,
                         struct nb_html_matched *matched);

#endif
