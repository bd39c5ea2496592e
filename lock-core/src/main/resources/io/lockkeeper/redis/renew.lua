-- Gives holds a new end, counted from now. A hold that has lapsed is over, even where nobody has taken the lock since.
-- Idempotent. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]      the lock records
-- ARGV[1]      life of a tombstone, ms
-- ARGV[3i-1]   attempt that holds lock i
-- ARGV[3i]     its lease from now on, ms
-- ARGV[3i+1]   1: exactly that lease; 0: at least that, a later end stays: a renewal may come after an extension
--
-- Reply: the server time in ms, then for each lock 1: renewed, or 0: the attempt does not hold it any more

local micros = server_micros()
local now = math.floor(micros / 1000)
local reply = { now }
for i = 1, #KEYS do
  local held = redis.pcall('HMGET', KEYS[i], 'version', 'owner', 'until')
  if not held.err and held[1] == '1' and held[2] == ARGV[3 * i - 1] and tonumber(held[3]) > now then
    local lease_ms = tonumber(ARGV[3 * i])
    if ARGV[3 * i + 1] == '0' then
      lease_ms = math.max(lease_ms, tonumber(held[3]) - now)
    end
    redis.call('PEXPIRE', KEYS[i], lease_ms + tonumber(ARGV[1]))
    redis.call('HSET', KEYS[i], 'until', whole(now + lease_ms), 'granted', '0')
    reply[i + 1] = 1
  else
    reply[i + 1] = 0
  end
end
return reply
