/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers that documents of a model have, in order, and how many documents of each label have
 * each: what bins are cut from (core/bayes/attribute/bins.h).
 *
 * The order outlives the counts that it was made for: a number that is new is put into its place,
 * and only when rows of the model were dropped or named anew all are looked for and sorted again.
 * How many documents have each is read from the counts whenever these have changed.
 *
 * Threads: as in core/bayes/attribute/attribute_scores.h.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_NUMBER_LIST_H
#define NB_CORE_BAYES_ATTRIBUTE_NUMBER_LIST_H

#include "core/base/decimal.h"
#include "core/counts/counts.h"

struct nb_number_row {
    nb_int128 fixed;
    uint32_t row;
    uint32_t attribute;
};

struct nb_number_cell {
    uint32_t place; /* of the label */
    uint32_t documents;
};

/* All zeros: of no model. */
struct nb_number_list {
    struct nb_number_row *rows; /* by attribute, then by number; owned, as all that follow */
    size_t *begin;              /* count + 1: the cells of a number are from here on, by place */
    struct nb_number_cell *cells;
    uint32_t *places; /* of the labels, by their numbers */
    size_t count, row_room, begin_room, cell_room, place_room;
    uint32_t seen; /* rows of the model below this are in the list, if they are numbers */
    uint64_t renames;
};

/* Those of one attribute, in order; borrowed. */
struct nb_number_span {
    const struct nb_number_row *rows;
    const size_t *begin; /* count + 1, into `cells` */
    const struct nb_number_cell *cells;
    size_t count;
};

void nb_number_list_deinit(struct nb_number_list *list);
/* Brings the list up to date, with places for labels of these numbers in the model. Returns 0 or
 * NB_NO_MEMORY. */
int nb_number_list_make(struct nb_number_list *list, const struct nb_model *model,
                        const uint32_t *names, uint32_t size);
size_t nb_number_list_memory(const struct nb_number_list *list);

struct nb_number_span nb_number_list_span(const struct nb_number_list *list, size_t attribute);

#endif
