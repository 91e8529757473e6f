/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as people read them. Any thread.
 */
#ifndef NB_CLIENT_FIGURE_H
#define NB_CLIENT_FIGURE_H

#include <stdint.h>

/* A number as text; a struct so that it can be used within one expression. */
struct nb_figure {
    char text[32];
};

/* 1234567 as "1,234,567". */
struct nb_figure nb_figure_of(uint64_t number);

/* Seconds as "3.2 s", "45 s", "2 min 5 s" or "1 h 4 min". */
struct nb_figure nb_figure_of_seconds(double seconds);

#endif
