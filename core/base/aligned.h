/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that begins at a multiple of some size. Any thread.
 */
#ifndef NB_CORE_BASE_ALIGNED_H
#define NB_CORE_BASE_ALIGNED_H

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

#endif
