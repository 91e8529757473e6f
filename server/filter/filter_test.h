/* SPDX-License-Identifier: Apache-2.0
 *
 * Test mails: the Generic Test for Unsolicited Bulk Email, which every filter rejects, and its
 * variants of rspamd (src/libmime/message.c), by which an administrator sees each action at work.
 * The variants need [filter] test_patterns: anybody could write one into a mail to have it called
 * ham. Pure functions; any thread.
 */
#ifndef NB_SERVER_FILTER_FILTER_TEST_H
#define NB_SERVER_FILTER_FILTER_TEST_H

#include <stdbool.h>

#include "core/base/string.h"
#include "server/filter/filter_report.h"

struct nb_config;

/* Returns whether the mail is a test, and sets its action if it is. */
bool nb_filter_find_test(const struct nb_config *config, struct nb_string mail,
                         enum nb_filter_action *action);

/* Makes the report of a test; the members `message_id` and `subject` stay as they are. */
void nb_filter_report_test(const struct nb_config *config, enum nb_filter_action action,
                           struct nb_filter_report *report);

#endif
