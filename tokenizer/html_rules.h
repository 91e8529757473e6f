/* SPDX-License-Identifier: Apache-2.0
 *
 * The style sheet rules of a document that affect whether text is visible, found by element, class
 * and id. Rules belong to one thread.
 *
 * Rules are found by a hash of their selector, and their declarations are a few bits
 * (html_declared.h): an element takes a few look-ups for itself and for each of its classes,
 * however large the sheets are. The number of selectors is bounded; further ones are left out. Two
 * selectors with the same hash count as one; an attacker can arrange that but gains nothing from
 * it.
 */
#ifndef NB_TOKENIZER_HTML_RULES_H
#define NB_TOKENIZER_HTML_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"
#include "tokenizer/html_declared.h"

enum {
    NB_HTML_RULES = 16384,     /* most rules that are kept; each selector of a list makes one */
    NB_HTML_RULES_FILTER = 512 /* bits of the filter */
};

/* A selector: an element, one or two classes, an id, or an element with one of these. Members that
 * the selector does not use are empty. */
struct nb_html_selector {
    struct nb_string element, id, classes[2];
};

/* The kind of a rule. */
enum nb_html_rule {
    NB_HTML_RULE_NORMAL,
    NB_HTML_RULE_IMPORTANT, /* it overrides the attribute `style` */
    NB_HTML_RULE_SHOWS,     /* it holds for some readers: text that it shows counts as visible */
    NB_HTML_RULE_MAYBE      /* it may not hold for all elements: their colours become unknown */
};

struct nb_html_rules {
    struct nb_html_rule_item *items; /* owned; in the order in which they were added */
    size_t count, room;
    struct nb_html_rule_entry *entries; /* owned; sorted, one for each selector */
    size_t entry_count;
    uint64_t filter[NB_HTML_RULES_FILTER / 64]; /* a bit of each added selector's hash is set */
    bool has_pairs;                             /* some selectors have two classes */
};

/* Frees the rules and sets *rules to {0}, which has none. */
void nb_html_rules_deinit(struct nb_html_rules *rules);

/* Adds a rule. Ignores a selector that is empty or combines more than struct nb_html_selector
 * allows, and all rules beyond NB_HTML_RULES. Returns 0 or NB_NO_MEMORY. */
int nb_html_rules_add(struct nb_html_rules *rules, const struct nb_html_selector *selector,
                      enum nb_html_rule kind, const struct nb_html_declared *declared);

/* Prepares the added rules for look-ups. Takes n log n; call it seldom. Returns 0 or
 * NB_NO_MEMORY. */
int nb_html_rules_sort(struct nb_html_rules *rules);

/* The declarations of all rules that match an element. */
struct nb_html_matched {
    struct nb_html_declared normal, important, maybe;
};

/* Finds the rules that match an element with these names; they must be sorted. `classes` is the raw
 * attribute. Returns false, without setting *matched, if none match. Linear in the length of the
 * names. */
bool nb_html_rules_match(const struct nb_html_rules *rules, struct nb_string element,
                         struct nb_string id, struct nb_string classes,
                         struct nb_html_matched *matched);

#endif
