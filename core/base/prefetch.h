/* SPDX-License-Identifier: Apache-2.0
 *
 * The declaration of functions that only prefetch memory, as a macro.
 */
#ifndef NB_CORE_BASE_PREFETCH_H
#define NB_CORE_BASE_PREFETCH_H

/* gcc 12 believes that a function whose only effect is __builtin_prefetch has none. It drops calls
 * of it, inline or not, unless it has inlined the function before it checks. */
#define NB_PREFETCHING __attribute__((always_inline)) static inline

/* Prefetches a cache line that is written next. This core then owns a line that other threads have
 * read before it writes; without -mprfchw __builtin_prefetch only prefetches for reading. On x86-64
 * processors that lack the instruction it does nothing. */
NB_PREFETCHING void nb_prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
