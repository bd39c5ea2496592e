-- Tells how many replicas follow this server. Runs on the connection that waits for them. Idempotent: only reads.
--
-- KEYS, ARGV  none
--
-- Reply: the id of the server's history of writes, a blank, and the number of replicas that are online

local info = redis.call('INFO', 'replication')
local online = 0
for _ in string.gmatch(info, 'slave%d+:[^\r\n]*state=online') do
  online = online + 1
end
return (string.match(info, 'master_replid:(%x+)') or '') .. ' ' .. online
