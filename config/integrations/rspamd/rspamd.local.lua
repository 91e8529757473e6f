-- For /etc/rspamd/rspamd.local.lua. rspamd asks bayesd over TLS, where others can listen, and adds its score:
-- the symbol BAYESD. It checks the certificate by the authorities of the machine, or by those in the file
-- ssl_ca_path of /etc/rspamd/local.d/options.inc.
local rspamd_http = require "rspamd_http"
local rspamd_logger = require "rspamd_logger"
local ucl = require "ucl"

local url = "https://bayesd.example.net:8764/checkv2"
local token_file = "/etc/rspamd/bayesd_token" -- the token that bayesd --new-token printed
local weight = 0.33 -- of bayesd's score, which is required_score (15) at the probability reject

local file = assert(io.open(token_file))
local token = file:read("*l")
file:close()

local function ask(task)
    local function answered(failure, code, body)
        local parser = ucl.parser()
        if failure or code ~= 200 or not parser:parse_string(body) then
            rspamd_logger.errx(task, "no verdict of bayesd: %s", failure or code)
            task:insert_result("BAYESD_FAIL", 1.0, tostring(failure or code))
            return
        end
        local score = parser:get_object().score
        if score > 0 then
            task:insert_result("BAYESD", score * weight)
        end
    end
    rspamd_http.request({
        task = task,
        url = url,
        body = task:get_content(),
        headers = { Authorization = "Bearer " .. token },
        timeout = 5.0,
        callback = answered,
    })
end

local asking = rspamd_config:register_symbol({ name = "BAYESD_ASK", type = "callback", callback = ask })
rspamd_config:register_symbol({ name = "BAYESD", type = "virtual", parent = asking, score = 1.0 })
rspamd_config:register_symbol({ name = "BAYESD_FAIL", type = "virtual", parent = asking, score = 0.0 })
