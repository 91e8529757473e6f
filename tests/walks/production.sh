# SPDX-License-Identifier: Apache-2.0
# Somebody who runs it in production: tokens, limits, health, backup, a crash, a restore.
# shellcheck shell=bash source=tests/walks/steps.sh disable=SC2119
source "$TOP/tests/walks/steps.sh"

step "a configuration, checked before it is used"
cat >bayesd.conf <<'END'
[server]
timeout = 20
[filter]
add_header = 0.8
END
bayesd --config bayesd.conf --check-config
fails 1 "bad.conf:2: [server] has no key" bash -c 'printf "[server]\nlistne = x\n" >bad.conf; bayesd --config bad.conf --check-config'

mkdir -m 700 data
step "tokens: one for the gateway, one for the administrator"
bayesd --config bayesd.conf --data data --new-token gateway --role train >gateway.token
bayesd --config bayesd.conf --data data --new-token boss --role admin >boss.token
sees gateway bayesd --config bayesd.conf --data data --list-tokens
start --config bayesd.conf
fails 77 "token" bayesc models
bayesc train --token-file gateway.token spam=spam.mbox ham=ham.mbox
fails 77 "admin" bayesc delete --yes mail --token-file gateway.token
export BAYESC_TOKEN_FILE=$PWD/boss.token

step "health and figures"
sees ok curl -sSf "$url/healthz"
curl -sSf "$url/readyz" -H "Authorization: Bearer $(cat boss.token)" >/dev/null
sees bayesd_documents curl -sSf "$url/metrics" -H "Authorization: Bearer $(cat boss.token)"
sees "answered within" bayesc bench --seconds 0.5 ham.mbox

step "a change of the configuration, without a pause"
printf '[log]\nlevel = debug\n' >>bayesd.conf
kill -HUP "$daemon"
for ((i = 0; i < 1000; i++)); do grep -q "configuration read again" log && break; sleep 0.1; done
grep -q "configuration read again changed=.*level" log

step "a backup while it serves, and a power failure"
mkdir backups
backup=$(bayesc backup backups)
sees "1 learned" bayesc train --label ham ham.eml
stop KILL
bayesd --verify --data data
start --config bayesd.conf
sees "81 documents" bayesc stats

step "the disk is gone: the backup, elsewhere"
stop
bayesc restore "$backup" other
cp data/tokens other/
rm -rf data
mv other data
start --config bayesd.conf
sees "80 documents" bayesc stats
stop
