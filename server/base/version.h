/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's version.
 */
#ifndef NB_SERVER_BASE_VERSION_H
#define NB_SERVER_BASE_VERSION_H

#define NB_PROGRAM_VERSION "1.0.0"

#endif
