# SPDX-License-Identifier: Apache-2.0
# Shared by the walks: a daemon, and what a user would see. To be sourced.
# shellcheck shell=bash
set -euo pipefail
daemon=

# start OPTION...: starts the daemon on a port that is free, and sets url.
start() {
    : >log
    bayesd --data data --listen 127.0.0.1:0 "$@" 2>>log &
    daemon=$!
    for ((i = 0; i < 3000; i++)); do
        url=$(sed -n 's|.*bayesd: ready on \(http://[^ ]*\).*|\1|p' log)
        [ -z "$url" ] || break
        kill -0 "$daemon" || { cat log; exit 1; }
        sleep 0.1
    done
    export BAYESC_URL=$url
}

# stop [SIGNAL]: ends the daemon.
stop() {
    kill "-${1:-TERM}" "$daemon"
    wait "$daemon" || [ "${1:-TERM}" = KILL ]
    daemon=
}
trap '[ -z "$daemon" ] || kill -KILL "$daemon"' EXIT

# step TEXT: what the user does now.
step() {
    echo "== $*"
}

# sees TEXT COMMAND...: the command succeeds, and its output has the text.
sees() {
    local wanted=$1 out
    shift
    out=$("$@" 2>&1) || { echo "exit status $?: $*"; echo "$out"; return 1; }
    grep -qF -- "$wanted" <<<"$out" || { echo "no '$wanted' in the output of $*"; echo "$out"; return 1; }
}

# fails STATUS TEXT COMMAND...: the command fails with the status, and says the text.
fails() {
    local status=$1 wanted=$2 out got=0
    shift 2
    out=$("$@" 2>&1) || got=$?
    [ "$got" -eq "$status" ] || { echo "exit status $got, not $status: $*"; echo "$out"; return 1; }
    grep -qF -- "$wanted" <<<"$out" || { echo "no '$wanted' in what $* says"; echo "$out"; return 1; }
}
