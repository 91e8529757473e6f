/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/commands/filter_away.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/key.h"
#include "server/http/call/call.h"

enum { PATH_BYTES = 512 };

/* ---- the folder ------------------------------------------------------------------------------ */

/* Opens the folder if it is the user's own. Returns a descriptor or -1. */
static int open_own(const char *path)
{
    struct stat status;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return folder;
    if (folder >= 0)
        (void)close(folder); /* was only checked */
    return -1;
}

/* In a folder that all users may write to, makes a folder for this user alone, unless it exists.
 * open_own then checks its owner. */
static int open_made(const char *base)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/bayesc-%ld", base, (long)geteuid());
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    (void)mkdir(path, 0700);
    return open_own(path);
}

static int open_folder(void)
{
    char path[64];
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    int folder = runtime != NULL && runtime[0] == '/' ? open_own(runtime) : -1;
    (void)snprintf(path, sizeof path, "/run/user/%ld", (long)geteuid());
    if (folder < 0)
        folder = open_own(path);
    if (folder < 0)
        folder = open_made(temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    return folder;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void close_file(struct nb_away *away)
{
    if (away->file >= 0)
        (void)close(away->file); /* the lock goes with it */
    away->file = -1;
}

/* Returns whether the pause since the time of the file is over. A time in the future counts as
 * over. */
static bool is_over(const struct stat *status, uint64_t pause)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    time_t age = now.tv_sec - status->st_mtime;
    return age < 0 || (uint64_t)age >= pause;
}

/* Returns whether this process may ask: there is no file, or the pause is over and no other process
 * probes. */
static bool may_ask(struct nb_away *away)
{
    struct stat status;
    away->file = openat(away->folder, away->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (away->file < 0)
        return true;
    bool has_lock = flock(away->file, LOCK_EX | LOCK_NB) == 0;
    /* Checked under the lock: another probe may just have ended, and removed or renewed the
     * file. */
    if (fstat(away->file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink == 0)
        return true;
    if (has_lock && is_over(&status, away->pause))
        return true;
    close_file(away);
    return false;
}

static void renew(const struct nb_away *away)
{
    int file = openat(away->folder, away->name,
                      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0)
        return; /* without the file the next mail also waits */
    (void)futimens(file, NULL);
    (void)close(file);
}

/* ---- the breaker ----------------------------------------------------------------------------- */

bool nb_away_begin(struct nb_away *away, const char *url, uint64_t pause)
{
    static const unsigned char NO_SECRET[NB_KEY_BYTES] = {0};
    struct nb_key key;
    *away = (struct nb_away){.pause = pause, .folder = -1, .file = -1};
    if (pause == 0)
        return true;
    nb_key_restore(&key, NO_SECRET);
    (void)snprintf(away->name, sizeof away->name, "bayesc-away-%016llx",
                   (unsigned long long)nb_key_hash(&key, url, strlen(url)));
    away->folder = open_folder();
    return away->folder < 0 || may_ask(away);
}

void nb_away_end(struct nb_away *away, bool has_asked, bool has_reply, uint64_t ns)
{
    bool is_slow = !has_reply && ns >= NB_BREAKER_SLOW;
    if (away->folder >= 0 && has_asked && is_slow)
        renew(away);
    /* A reply closes the breaker, and so does a probe that fails at once. */
    if (away->folder >= 0 && has_asked && !is_slow && (has_reply || away->file >= 0))
        (void)unlinkat(away->folder, away->name, 0); /* usually the file does not exist */
    close_file(away);
    if (away->folder >= 0)
        (void)close(away->folder);
    away->folder = -1;
}
