/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and the processor's cache: aligned allocation and prefetching. Any thread.
 */
#ifndef NB_CORE_BASE_CACHE_LINE_H
#define NB_CORE_BASE_CACHE_LINE_H

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* Allocates at least `size` uninitialized bytes at a multiple of `alignment`, a power of two. The
 * caller frees them with free(). NULL: out of memory. aligned_alloc needs a size that is a
 * multiple of the alignment (C11, 7.22.3.1); glibc accepts any size, but the sanitizers end the
 * program. */
static inline void *nb_aligned_alloc(size_t alignment, size_t size)
{
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    size_t rest = -size & (alignment - 1);
    return size + rest < size ? NULL : aligned_alloc(alignment, size + rest);
}

/* Declares a function that only prefetches memory. gcc 12 assumes that a function whose only effect
 * is __builtin_prefetch has no effect, and drops calls of such a function unless it has inlined the
 * function before that check. */
#define NB_PREFETCHING __attribute__((always_inline)) static inline

/* Prefetches a cache line for writing, so that this core owns the line before it writes, even if
 * other threads have read it. Without -mprfchw, __builtin_prefetch only prefetches for reading.
 * Does nothing on x86-64 processors that lack the instruction. */
NB_PREFETCHING void nb_prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
