-- SPDX-License-Identifier: Apache-2.0
-- For miltertest(8): one mail through the milter at `socket`; prints what became of it, a line a fact.
-- libmilter drops a peer that sends macros before the negotiation.
local conn = mt.connect(socket)
if conn == nil then error("connect") end
local function must(step, problem) if problem ~= nil then error(step .. ": " .. problem) end end

must("negotiate", mt.negotiate(conn, nil, nil, nil))
mt.macro(conn, SMFIC_CONNECT, "j", "mx.example.net")
must("conninfo", mt.conninfo(conn, "client.example.org", "192.0.2.10"))
must("helo", mt.helo(conn, "client.example.org"))
mt.macro(conn, SMFIC_MAIL, "i", "4XyZ")
must("mailfrom", mt.mailfrom(conn, "<alice@example.org>"))
must("rcptto", mt.rcptto(conn, "<bob@example.net>"))
must("header", mt.header(conn, "From", "alice@example.org"))
must("header", mt.header(conn, "Subject", "lunch"))
must("header", mt.header(conn, "X-Bayes-Status", "ham, forged"))
must("eoh", mt.eoh(conn))
must("bodystring", mt.bodystring(conn, "hello\r\n"))
must("eom", mt.eom(conn))

local names = {[SMFIR_CONTINUE] = "pass", [SMFIR_ACCEPT] = "pass", [SMFIR_REPLYCODE] = "reply",
               [SMFIR_REJECT] = "reject", [SMFIR_TEMPFAIL] = "tempfail", [SMFIR_DISCARD] = "discard"}
mt.echo("end " .. tostring(names[mt.getreply(conn)]))
mt.echo("deleted " .. tostring(mt.eom_check(conn, MT_HDRDELETE, "X-Bayes-Status")))
mt.echo("added " .. tostring(mt.eom_check(conn, MT_HDRADD, "X-Bayes-Status", status)))
mt.echo("subject " .. tostring(mt.eom_check(conn, MT_HDRCHANGE, "Subject", "*** lunch")))
mt.echo("quarantined " .. tostring(mt.eom_check(conn, MT_QUARANTINE)))
mt.disconnect(conn)
