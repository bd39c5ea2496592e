-- Gives holds a new end, counted from now. A hold that has lapsed is over, even where nobody has taken the lock since.
-- Idempotent. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]      the lock records
-- ARGV[1]      life of a tombstone, ms
-- ARGV[2i]     attempt that holds lock i
-- ARGV[2i+1]   its lease from now on, ms
--
-- Reply: the server time in ms, then for each lock 1: renewed, or 0: the attempt does not hold it any more

local micros = server_micros()
local now = math.floor(micros / 1000)
local reply = { now }
for i = 1, #KEYS do
  local held = redis.pcall('HMGET', KEYS[i], 'version', 'owner', 'until')
  local lease_ms = tonumber(ARGV[2 * i + 1])
  if not held.err and held[1] == '1' and held[2] == ARGV[2 * i] and tonumber(held[3]) > now then
    redis.call('PEXPIRE', KEYS[i], lease_ms + tonumber(ARGV[1]))
    redis.call('HSET', KEYS[i], 'until', whole(now + lease_ms), 'granted', '0')
    reply[i + 1] = 1
  else
    reply[i + 1] = 0
  end
end
return reply
