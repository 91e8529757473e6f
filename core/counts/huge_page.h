/* SPDX-License-Identifier: Apache-2.0
 *
 * The size of a huge page, for the large arrays of a model. Where the kernel has pages of another
 * size, or none, it refuses what is asked for by this one, which is no harm.
 */
#ifndef NB_CORE_COUNTS_HUGE_PAGE_H
#define NB_CORE_COUNTS_HUGE_PAGE_H

enum { NB_HUGE_PAGE = 2 << 20 }; /* bytes */

#endif
