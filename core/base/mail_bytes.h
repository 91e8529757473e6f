/* SPDX-License-Identifier: Apache-2.0
 *
 * The size limit of one mail. Every entrance applies it: the daemon as the default of [server]
 * body_bytes (option_table.c), also for mail software, and bayesc for the mails that it reads.
 */
#ifndef NB_CORE_BASE_MAIL_BYTES_H
#define NB_CORE_BASE_MAIL_BYTES_H

enum { NB_MAIL_BYTES = 64 * 1024 * 1024 };

#endif
