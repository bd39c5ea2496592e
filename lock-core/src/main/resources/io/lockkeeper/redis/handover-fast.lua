-- The fastest path of handover.lua, put in front of it: no attempt waits, the next attempt holds the lock, and its key lives long
-- enough. It does what the whole script would do, and only that part of it; where anything is unusual it does nothing, and the
-- rest decides. So it is on a full server, which refuses the write.
--
-- KEYS, ARGV and replies: those of handover.lua

local claim, key, several = ARGV[1], KEYS[1]
local another, mode, lease = sub(claim, 35, 54), sub(claim, 33, 33), sub(claim, 62, 74)
local me, used = sub(claim, 75, 94), sub(claim, 95, 110)
local lock = clock <= claim and sub(claim, 111) ~= '1' and mode ~= 'R' and redis.pcall('HGET', key, 'lock')
local hold = lock and #lock >= 64 and sub(lock, 1, 2) == '4O' and redis.call('HGET', key, 'hold')
local held = hold and sub(hold, 3, 22) == me and sub(lock, 45, 64) ~= another

if held then
  local first, state, lives = sub(lock, 20, 35), sub(hold, 1, 2), sub(hold, 55)
  if #lock == 64 and state == '4H' and lease <= LEASE and lives - sub(time[1], 2) >= NEEDED
    and lives - sub(time[1], 2) <= LONGEST
    and first < clock and (used == first or (used == NO_TOKEN and sub(lock, 36, 44) == '000000001'))
    and redis.pcall('HSET', key, 'lock', '4O' .. mode .. clock .. clock .. '0000' .. sub(claim, 56, 60) .. me,
      'hold', '4H' .. another .. ' ' .. lease .. ' ' .. clock .. ' ' .. lives) == 0 then
    return clock
  end
  held = state == '4H' or state == '4G'
end
local tokens, alive, entry = sub(claim, 56, 60), nil, nil
if held and #lock > 64 then
  alive = math.min(sub(clock, 1, 13) + ALIVE, 9999999999999) .. ''
  entry = mode .. another .. alive .. (lease < GRANT and lease or GRANT) .. tokens
end
