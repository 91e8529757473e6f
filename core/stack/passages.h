/* SPDX-License-Identifier: Apache-2.0
 *
 * A document judged by its passages: who appends innocent text to spam must not change the verdict
 * on the spam. The visible text is cut into parts (core/base/feature.h). Passages of one to four
 * parts are judged like documents of their own, together with all that stands in every passage:
 * header fields, structure, attributes. Hidden text belongs to no part. The features of a part are
 * those that occur in it first. For two labels; threads as for the inputs (core/stack/stack.h).
 *
 * Every input is a sum over features. So the pass over the counts only notes what each part adds
 * (nb_stack_part_at), and a passage costs some hundred instructions. Its log-odds are
 *
 *     stack (sum over e of trust_e (b_e + sum over g of w_g x_g)) + twin (d + t)
 *
 * as those of a document (nb_stack_score), with the number of features n of the passage in the
 * length normalization. The passage has at least NB_PASSAGE_LEAST features of its own.
 */
#ifndef NB_CORE_STACK_PASSAGES_H
#define NB_CORE_STACK_PASSAGES_H

#include "core/stack/stack_private.h"

enum { NB_PASSAGE_LEAST = 24, NB_PASSAGE_SIZES = 2 };

/* The fields that a part can have: words, links, capitals, pairs, n-grams. */
enum { NB_PASSAGE_FIELDS = 5 };

/* A field's sums are those of each expert and then that of the twin, each by column: one column
 * with two labels, else one for each label number. With two labels the experts' are those of the
 * first label, the twin's that of the second. */
enum { NB_PASSAGE_WIDTH_MOST = (NB_STACK_EXPERTS + 1) * NB_STACK_FEW_LABELS };

struct nb_stack_passages {
    uint32_t end; /* one above the greatest number of a part that the document has */
    uint32_t experts, columns;
    uint32_t width; /* the numbers of a field's sums */
    /* What the features of each part add to the document, by its number and place in
     * nb_passage_fields. At 0, with more than two labels: the document's when the part `part`
     * began. */
    uint32_t features[NB_PASSAGES][NB_PASSAGE_FIELDS];
    double *sums; /* owned; [part][place][width] */
    size_t room;  /* of `sums` and what lies behind */
    uint32_t part;
    /* What is in no part: hidden text is not there at all. */
    uint32_t common_features[NB_STACK_GROUPS];
    double *common; /* [field][width] */
    double *t;      /* of the inputs, before the attributes were added; by place */
};

void nb_stack_passages_free(struct nb_stack_passages **passages);
/* Empties the parts. Returns 0 or NB_NO_MEMORY. */
int nb_stack_passages_begin(const struct nb_stack_pass *pass);
/* The sums of the part with this number, emptied if the document has not had it before: those of
 * each place in nb_passage_fields. */
double *nb_stack_part_at(struct nb_stack_passages *passages, uint32_t number);
/* More than two labels: the next features are in this part (0: in none). */
void nb_stack_passages_turn(const struct nb_stack_pass *pass, uint32_t number);
/* Notes the sums of the document, while they are not yet multiplied by shares. */
void nb_stack_passages_whole(const struct nb_stack_pass *pass);
/* Ends the parts of a bag: finds them from the noted features if the pass did not, and takes them
 * out of the sums of the document. */
void nb_stack_passages_end(const struct nb_stack_pass *pass, const struct nb_feature *features,
                           size_t size);

/* What is stored to choose the margins by (nb_stack_margins), for texts and then for mails: the
 * log-loss without passages, and for each margin of the two grids what it costs besides, which is
 * below 0 where passages are right. */
enum nb_passage_place {
    NB_PASSAGE_LOSS,
    NB_PASSAGE_FRESH, /* how far the start is forgotten: from 0 to 1 */
    NB_PASSAGE_COSTS,
    NB_PASSAGE_MARGINS = 13,
    NB_PASSAGE_COSTS_AGAINST = NB_PASSAGE_COSTS + NB_PASSAGE_MARGINS,
    NB_PASSAGE_MARGINS_AGAINST = 11,
    NB_PASSAGE_PLACES_OF_KIND = NB_PASSAGE_COSTS_AGAINST + NB_PASSAGE_MARGINS_AGAINST
};
_Static_assert(2 * NB_PASSAGE_PLACES_OF_KIND <= NB_WEIGHTS_RANGE, "all are in one range");

extern const unsigned char nb_passage_fields[NB_PASSAGE_FIELDS];

#endif
