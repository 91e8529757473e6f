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

/* Asks for a line that is written next. What other threads have read belongs to this one then,
 * before it is written; without -mprfchw __builtin_prefetch only asks to read it. Processors of
 * x86-64 that do not have the instruction take it for one that does nothing. */
NB_PREFETCHING void nb_prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
