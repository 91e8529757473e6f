/* SPDX-License-Identifier: Apache-2.0
 *
 * How large one mail may be. Every door has this limit: the daemon's as the default of [server]
 * body_bytes (option_table.c), which mail software meets, too, and bayesc's for what it reads.
 */
#ifndef NB_CORE_BASE_MAIL_BYTES_H
#define NB_CORE_BASE_MAIL_BYTES_H

enum { NB_MAIL_BYTES = 64 * 1024 * 1024 };

#endif
