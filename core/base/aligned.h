/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that begins at a multiple of some size. Any thread.
 */
#ifndef NB_CORE_BASE_ALIGNED_H
#define NB_CORE_BASE_ALIGNED_H

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* At least `size` bytes, not set, at a multiple of `alignment`, a power of two: free() frees them.
 * NULL: no memory. The size that aligned_alloc is given must be a multiple of the alignment (C11,
 * 7.22.3.1); glibc takes any other, the sanitizers end the program. */
static inline void *nb_aligned_alloc(size_t alignment, size_t size)
{
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    size_t rest = -size & (alignment - 1);
    return size + rest < size ? NULL : aligned_alloc(alignment, size + rest);
}

#endif
