-- The fastest paths of release.lua, put in front of it, for one lock that no attempt waits for: one attempt holds it alone, or a
-- reader leaves. They do what the whole script would do, and only that part of it; where anything is unusual they do nothing, and
-- the rest decides. So it is on a full server, which refuses the write. To let a key live a little longer costs less than to give
-- it another end.
--
-- KEYS, ARGV and replies: those of release.lua

local ending, key, several, another, alive, entry = ARGV[1], KEYS[1], KEYS[2]
local me, used = sub(ending, 1, 20), sub(ending, 21, 36)
local lock = not ARGV[2] and redis.pcall('HGET', key, 'lock')
local state = lock and #lock >= 64 and sub(lock, 1, 2)
local hold = state == '4O' and redis.call('HGET', key, 'hold')
local held = hold and sub(hold, 3, 22) == me

if held then
  state = sub(hold, 1, 2)
  if #lock == 64 and not several and state == '4H' and sub(hold, 24, 36) <= LEASE then
    local first = sub(lock, 20, 35)
    if (used == first or (used == NO_TOKEN and sub(lock, 36, 44) == '000000001'))
      and redis.pcall('HSET', key, 'lock', '4-' .. sub(lock, 3, 3) .. clock .. first .. sub(hold, 55) .. me,
        'hold', NO_HOLD) == 0 then
      return clock
    end
  end
  held = state == '4H' or state == '4G'
elseif state == '4R' and #lock == 64 and not several then
  local all, now = redis.call('HGET', key, 'readers') or '', sub(clock, 1, 13)
  local place = #all <= MOST * 34 and string.find(all, me, 1, true)
  local leaves = place and sub(all, place + 33, place + 33) ~= 'K' and sub(all, place + 20, place + 32) - now <= LEASE + 0
  for other = 21, leaves and #all or 0, 34 do
    leaves = leaves and sub(all, other, other + 12) > now
  end
  if leaves then
    local readers = sub(all, 1, place - 1) .. sub(all, place + 34)
    if redis.pcall('HSET', key, 'readers', readers,
      'lock', (readers == '' and '4-R' or '4RR') .. clock .. sub(lock, 20, 44) .. me) == 0 then
      return clock
    end
  end
end
