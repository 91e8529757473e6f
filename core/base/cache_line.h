/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for the cache of the processor: aligned to its lines, and prefetched. Any thread.
 */
#ifndef NB_CORE_BASE_CACHE_LINE_H
#define NB_CORE_BASE_CACHE_LINE_H

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* Allocates at least `size` uninitialized bytes at a multiple of `alignment`, a power of two. The
 * caller frees them with free(). Returns NULL without memory. aligned_alloc needs a size that is a
 * multiple of the alignment (C11, 7.22.3.1); glibc accepts any size, but the sanitizers end the
 * program. */
static inline void *nb_aligned_alloc(size_t alignment, size_t size)
{
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    size_t rest = -size & (alignment - 1);
    return size + rest < size ? NULL : aligned_alloc(alignment, size + rest);
}

/* Declares a function that only prefetches memory. gcc 12 believes that a function whose only
 * effect is __builtin_prefetch has none. It drops calls of it, inline or not, unless it has inlined
 * the function before it checks. */
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
