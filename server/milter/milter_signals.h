/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of bayesd-milter: SIGTERM and SIGINT to stop, SIGHUP to read options again. All threads
 * block them, and the main thread waits for them.
 *
 * A thread of libmilter waits for the same three, stops on each of them, and cannot be told
 * otherwise. It calls sigwait(3), so this file has a sigwait of its own, which the dynamic linker
 * prefers to that of the C library: it leaves SIGHUP to the main thread. What libmilter takes of
 * the other two, nb_milter_start passes on.
 */
#ifndef NB_MILTER_MILTER_SIGNALS_H
#define NB_MILTER_MILTER_SIGNALS_H

/* Blocks the signals in the calling thread and those that it starts. Main thread, before others
 * start. */
void nb_milter_signals_block(void);

/* Waits for the next signal and returns its number. Main thread. */
int nb_milter_signals_next(void);

#endif
