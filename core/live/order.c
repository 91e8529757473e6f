/* SPDX-License-Identifier: Apache-2.0 */
#include "core/live/order.h"

#include <assert.h>
#include <math.h>

#include "core/base/error.h"
#include "core/score/stack.h"

/* Measured on SpamAssassin's corpus, 20 Newsgroups, Enron 1 and 2 and SMS: see core/README.md. */
static const double most_odds = 8;     /* of the recent share, against that of all documents */
static const double fading = 1.0 / 20; /* of a recent document, with the next */
static const double recent_prior = 2;  /* documents in which the shares agree */

/* The places of the model. Stored: never renumber. */
enum {
    CHANGES, /* documents that were counted: what recent ones have faded by */
    RECENT,  /* C */
    CREDIT,
    LABELS_FROM = 16
};

/* The places of a label, from LABELS_FROM + label * PER_LABEL on. */
enum {
    LABEL_RECENT,  /* c_v when the label was counted last */
    LABEL_CHANGES, /* and CHANGES then: so that only the label of a document is written */
    PER_LABEL = 4
};

_Static_assert(LABELS_FROM + PER_LABEL * NB_LABELS_MOST <= NB_STACK_ORDER_MOST, "all have a place");

static size_t place_of(uint32_t label, unsigned what)
{
    return LABELS_FROM + (size_t)label * PER_LABEL + what;
}

/* c_v as it is now. */
static double recent_of(const struct nb_weights *order, uint32_t label)
{
    double recent = nb_weights_at(order, place_of(label, LABEL_RECENT));
    double since =
        nb_weights_at(order, CHANGES) - nb_weights_at(order, place_of(label, LABEL_CHANGES));
    return recent * pow(1 - fading, since);
}

double nb_order_weight(const struct nb_weights *order, uint32_t label, uint64_t of_label,
                       uint64_t documents)
{
    assert(of_label <= documents);
    double pi = ((double)of_label + 1) / ((double)documents + 2);
    double q = (recent_of(order, label) + recent_prior * pi) /
               (nb_weights_at(order, RECENT) + recent_prior);
    return fmin(1, most_odds * (pi / (1 - pi)) / (q / (1 - q)));
}

/* Room for what one document changes. */
static int make_room(struct nb_weights *order, uint32_t label)
{
    enum { CHANGED = 8 };
    int rc = nb_weights_grow(order, place_of(label + 1, 0), NULL);
    return rc != 0 ? rc : nb_weights_reserve(order, CHANGED);
}

static void add(struct nb_weights *order, size_t place, double amount)
{
    nb_weights_set(order, place, nb_weights_at(order, place) + amount);
}

int nb_order_count(struct nb_weights *order, uint32_t label, double weight)
{
    int rc = make_room(order, label);
    if (rc != 0)
        return rc;
    double recent = recent_of(order, label) * (1 - fading) + 1;
    add(order, CHANGES, 1);
    nb_weights_set(order, place_of(label, LABEL_RECENT), recent);
    nb_weights_set(order, place_of(label, LABEL_CHANGES), nb_weights_at(order, CHANGES));
    nb_weights_set(order, RECENT, nb_weights_at(order, RECENT) * (1 - fading) + 1);
    add(order, CREDIT, 1 - weight);
    return 0;
}

bool nb_order_take_credit(struct nb_weights *order)
{
    if (nb_weights_at(order, CREDIT) < 1)
        return false;
    nb_weights_set(order, CREDIT, nb_weights_at(order, CREDIT) - 1);
    return true;
}
