/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html_rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/html_length.h"

enum {
    FOUND_MOST = 32,   /* most rules that are applied to one element */
    PAIRED_CLASSES = 8 /* classes of one element that are looked up in pairs */
};

struct nb_html_rule_item {
    uint64_t selector;
    uint32_t order;
    uint8_t weight; /* specificity: the heavier rule wins */
    uint8_t kind;   /* enum nb_html_rule */
    struct nb_html_declared declared;
};

struct nb_html_rule_entry {
    uint64_t selector;
    uint32_t order; /* order of the last of its rules */
    uint32_t shown; /* properties that do not hide for some readers, a bit each */
    uint8_t weight;
    struct nb_html_matched declared;
};

void nb_html_rules_deinit(struct nb_html_rules *rules)
{
    free(rules->items);
    free(rules->entries);
    *rules = (struct nb_html_rules){0};
}

/* ---- selectors ------------------------------------------------------------------------------- */

enum { WEIGHT_ELEMENT = 1, WEIGHT_CLASS = 10, WEIGHT_ID = 100 }; /* CSS Selectors 3, section 9 */

/* FNV-1a of a name in lower case, after a byte for its kind. Returns 0 for an empty name. */
static uint64_t hash_of(char kind, struct nb_string name)
{
    uint64_t hash =
        (UINT64_C(14695981039346656037) ^ (unsigned char)kind) * UINT64_C(1099511628211);
    if (name.length == 0)
        return 0;
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)nb_ascii_lower(name.bytes[i])) * UINT64_C(1099511628211);
    return hash;
}

/* Combines the hash of an element with that of a class or id; either may be 0. */
static uint64_t join(uint64_t element, uint64_t rest)
{
    uint64_t hash = element ^ (rest << 23 | rest >> 41);
    return hash ^ hash >> 32;
}

/* Combines the hashes of two classes, in either order. */
static uint64_t join_classes(uint64_t a, uint64_t b)
{
    return a < b ? join(a, b) : join(b, a);
}

int nb_html_rules_add(struct nb_html_rules *rules, const struct nb_html_selector *selector,
                      enum nb_html_rule kind, const struct nb_html_declared *declared)
{
    uint64_t element = hash_of('<', selector->element), id = hash_of('#', selector->id);
    uint64_t class_ = hash_of('.', selector->classes[0]),
             other = hash_of('.', selector->classes[1]);
    bool is_many = (id != 0 && class_ != 0) || (other != 0 && (element != 0 || other == class_));
    if (is_many || (element == 0 && id == 0 && class_ == 0) || rules->count == NB_HTML_RULES)
        return 0;
    if (nb_array_reserve(&rules->items, &rules->room, rules->count + 1, sizeof *rules->items) != 0)
        return NB_NO_MEMORY;
    uint64_t rest = id != 0 ? id : other != 0 ? join_classes(class_, other) : class_;
    int weight = (element != 0 ? WEIGHT_ELEMENT : 0) + (id != 0 ? WEIGHT_ID : 0) +
                 (class_ != 0 ? WEIGHT_CLASS : 0) + (other != 0 ? WEIGHT_CLASS : 0);
    rules->items[rules->count] = (struct nb_html_rule_item){.selector = join(element, rest),
                                                            .order = (uint32_t)rules->count,
                                                            .weight = (uint8_t)weight,
                                                            .kind = (uint8_t)kind,
                                                            .declared = *declared};
    rules->count++;
    rules->has_pairs = rules->has_pairs || other != 0;
    return 0;
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct nb_html_rule_item *x = a, *y = b;
    if (x->selector != y->selector)
        return x->selector < y->selector ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static unsigned filter_bit(uint64_t selector)
{
    return (unsigned)(selector % NB_HTML_RULES_FILTER);
}

static void add_to_entry(struct nb_html_rule_entry *entry, const struct nb_html_rule_item *item)
{
    switch ((enum nb_html_rule)item->kind) {
    case NB_HTML_RULE_NORMAL:
        nb_html_declared_add(&entry->declared.normal, &item->declared);
        break;
    case NB_HTML_RULE_IMPORTANT:
        nb_html_declared_add(&entry->declared.important, &item->declared);
        break;
    case NB_HTML_RULE_SHOWS:
        entry->shown |= item->declared.set & ~item->declared.hides;
        break;
    case NB_HTML_RULE_MAYBE:
        nb_html_declared_add(&entry->declared.maybe, &item->declared);
        break;
    }
    entry->order = item->order;
    entry->weight = item->weight;
}

int nb_html_rules_sort(struct nb_html_rules *rules)
{
    if (rules->count == 0)
        return 0;
    free(rules->entries);
    rules->entry_count = 0;
    rules->entries = calloc(rules->count, sizeof *rules->entries);
    if (rules->entries == NULL)
        return NB_NO_MEMORY;
    qsort(rules->items, rules->count, sizeof *rules->items, compare);
    for (size_t i = 0; i < rules->count; i++) {
        const struct nb_html_rule_item *item = &rules->items[i];
        if (i == 0 || item->selector != item[-1].selector)
            rules->entries[rules->entry_count++].selector = item->selector;
        add_to_entry(&rules->entries[rules->entry_count - 1], item);
        unsigned bit = filter_bit(item->selector);
        rules->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return 0;
}

/* ---- matching -------------------------------------------------------------------------------- */

struct search {
    const struct nb_html_rules *rules;
    const struct nb_html_rule_entry *found[FOUND_MOST]; /* sorted: rules of less weight first */
    size_t count;
};

static bool counts_less(const struct nb_html_rule_entry *a, const struct nb_html_rule_entry *b)
{
    return a->weight != b->weight ? a->weight < b->weight : a->order < b->order;
}

static void look_up(struct search *s, uint64_t selector)
{
    const struct nb_html_rules *rules = s->rules;
    unsigned bit = filter_bit(selector);
    size_t low = 0, high = rules->entry_count;
    if ((rules->filter[bit / 64] >> bit % 64 & 1) == 0 || s->count == FOUND_MOST)
        return;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rules->entries[middle].selector < selector)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == rules->entry_count || rules->entries[low].selector != selector)
        return;
    size_t place = s->count++;
    for (; place > 0 && counts_less(&rules->entries[low], s->found[place - 1]); place--)
        s->found[place] = s->found[place - 1];
    s->found[place] = &rules->entries[low];
}

static void look_up_classes(struct search *s, uint64_t element, struct nb_string classes)
{
    uint64_t before[PAIRED_CLASSES];
    size_t count = 0;
    classes = nb_string_trim_start(classes, " \t\r\n\f");
    while (classes.length > 0) {
        uint64_t class_ = hash_of('.', nb_html_take_word(&classes));
        look_up(s, join(0, class_));
        look_up(s, join(element, class_));
        for (size_t i = 0; s->rules->has_pairs && i < count; i++)
            look_up(s, join(0, join_classes(before[i], class_)));
        if (count < PAIRED_CLASSES)
            before[count++] = class_;
    }
}

bool nb_html_rules_match(const struct nb_html_rules *rules, struct nb_string element,
                         struct nb_string id, struct nb_string classes,
                         struct nb_html_matched *matched)
{
    struct search s = {.rules = rules};
    uint64_t name = hash_of('<', element);
    look_up(&s, join(name, 0));
    look_up_classes(&s, name, classes);
    uint64_t own = hash_of('#', nb_string_trim(id));
    if (own != 0) {
        look_up(&s, join(0, own));
        look_up(&s, join(name, own));
    }
    if (s.count == 0)
        return false;
    uint32_t shown = 0;
    *matched = s.found[0]->declared;
    for (size_t i = 0; i < s.count; i++) {
        nb_html_declared_add(&matched->normal, &s.found[i]->declared.normal);
        nb_html_declared_add(&matched->important, &s.found[i]->declared.important);
        nb_html_declared_add(&matched->maybe, &s.found[i]->declared.maybe);
        shown |= s.found[i]->shown;
    }
    matched->normal.set &= ~shown;
    matched->normal.hides &= ~shown;
    matched->important.set &= ~shown;
    matched->important.hides &= ~shown;
    return true;
}
