/* SPDX-License-Identifier: Apache-2.0
 *
 * How a function is declared that only asks for memory. A macro.
 */
#ifndef NB_CORE_BASE_PREFETCH_H
#define NB_CORE_BASE_PREFETCH_H

/* gcc 12 takes a function in which nothing but __builtin_prefetch has an effect for one without
 * any, and drops its calls, inline or not, unless it has put the function into its caller before it
 * looks. */
#define NB_PREFETCHING __attribute__((always_inline)) static inline

#endif
