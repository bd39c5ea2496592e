-- The fastest path of handover.lua, put in front of it: no attempt waits, the next attempt holds the lock, and its key lives long
-- enough. It does what the whole script would do, and only that part of it; where anything is unusual it does nothing, and the
-- rest decides. So it is on a full server, which refuses the write.
--
-- KEYS, ARGV and replies: those of handover.lua

local claim, key, several = ARGV[1], KEYS[1]
local another, mode, lease = sub(claim, 35, 54), sub(claim, 33, 33), sub(claim, 62, 74)
local me, used = sub(claim, 75, 94), sub(claim, 95, 110)
local raw = clock <= claim and sub(claim, 111) ~= '1' and mode ~= 'R' and redis.pcall('HGET', key, 'lock')
local held = raw and #raw >= 142 and sub(raw, 86, 105) == me and sub(raw, 65, 84) ~= another

if held then
  local first = sub(raw, 48, 63)
  if #raw == 142 and sub(raw, 1, 17) == HELD and clock < sub(raw, 18, 27) and lease <= LEASE and first < clock
    and (used == first or (used == NO_TOKEN and sub(raw, 107, 111) == '00001'))
    and redis.pcall('HSET', key, 'lock', sub(raw, 1, 28) .. mode .. ' ' .. clock .. ' ' .. clock .. ' ' .. me .. ' '
      .. sub(claim, 35, 74) .. ' ' .. clock) == 0 then
    return clock
  end
  held = sub(raw, 1, 1) == '3' and sub(raw, 2, 2) ~= 'K'
end
local tokens, alive, entry = sub(claim, 56, 60), nil, nil
if held and #raw > 142 then
  alive = math.min(sub(clock, 1, 13) + ALIVE, 9999999999999) .. ''
  entry = mode .. another .. alive .. (lease < GRANT and lease or GRANT) .. tokens
end
