/* SPDX-License-Identifier: Apache-2.0
 *
 * htole64, le64toh and the like, under the names of endian(3).
 */
#ifndef NB_CORE_BASE_PLATFORM_BYTE_ORDER_H
#define NB_CORE_BASE_PLATFORM_BYTE_ORDER_H

#include <endian.h>

#endif
