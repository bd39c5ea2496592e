-- The fast path of handover.lua, put in front of it: no attempt waits, and the next attempt holds the lock. It does what the whole
-- script would do, and only that part of it; where anything is unusual it does nothing, and what follows decides.
--
-- KEYS, ARGV and replies: those of handover.lua

local claim = ARGV[1]
local another, mode, lease, tokens = sub(claim, 1, 20), sub(claim, 21, 21), sub(claim, 22, 34), sub(claim, 35, 39)
local me, used = sub(claim, 73, 92), sub(claim, 93, 108)
local raw = sub(claim, 109) ~= '1' and mode ~= 'R' and clock <= sub(claim, 56, 71) and redis.pcall('HGET', KEYS[1], 'lock')
local held = raw and #raw >= 118 and sub(raw, 68, 87) == me and sub(raw, 1, 2) == '2 ' and sub(raw, 4, 4) ~= 'K'
  and sub(raw, 47, 66) ~= another

if held and #raw == 118 then
  local first = sub(raw, 24, 39)
  first = used == first and first or last_token(raw, used)
  first = first < clock and clock or string.format('%.0f', first + 1)
  redis.call('PEXPIRE', KEYS[1], lease == LEASE and LIFE or lease + TOMBSTONE)
  redis.call('HSET', KEYS[1], 'lock', '2 ' .. mode .. 'H- ' .. clock .. ' ' .. first .. ' ' .. tokens .. ' ' .. me .. ' '
    .. another .. ' ' .. clock .. ' ' .. lease)
  return first == clock and clock or 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. first
end
