/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches many sockets at once, and wakes a thread that does. A poller and a bell are descriptors,
 * which the caller closes. Any thread; a poller may be changed while another thread waits.
 */
#ifndef NB_CORE_BASE_PLATFORM_POLLER_H
#define NB_CORE_BASE_PLATFORM_POLLER_H

#include <stdbool.h>

/* What a poller looks for, as a set. Errors are always reported. */
enum {
    NB_POLLER_READ = 1,
    NB_POLLER_WRITE = 2,
    NB_POLLER_END = 4,  /* the other side sends nothing more */
    NB_POLLER_NEWS = 8, /* not the same state again: only what has come since the last report */
    NB_POLLER_ONCE = 16 /* one report, then none until nb_poller_change */
};

struct nb_poller_event {
    void *user;     /* as given to nb_poller_add */
    bool has_ended; /* an error, or the other side sends nothing more, if that is watched for */
};

/* Makes a poller. -1 with errno. */
int nb_poller_new(void);
/* Begins to watch a file. Returns whether it does; errno says why not. A file that is closed is not
 * watched any more, unless a duplicate of it is open. */
bool nb_poller_add(int poller, int file, unsigned what, void *user);
bool nb_poller_change(int poller, int file, unsigned what, void *user);
/* Does nothing for a file that is not watched. */
void nb_poller_remove(int poller, int file);

enum { NB_POLLER_MOST = 64 };
/* Waits for at most so many milliseconds (-1: without end) and writes what has happened. Returns
 * the number of events; 0 after the time or a signal, or an error. */
int nb_poller_wait(int poller, struct nb_poller_event events[NB_POLLER_MOST], int milliseconds);

/* Whether the other side of a socket sends nothing more, or the connection is broken; asked without
 * waiting. */
bool nb_poller_has_ended(int file);

/* A bell: a descriptor that can be read from nb_bell_ring until nb_bell_clear, to be watched or
 * polled. -1 with errno. */
int nb_bell_new(void);
void nb_bell_ring(int bell);
void nb_bell_clear(int bell);

#endif
