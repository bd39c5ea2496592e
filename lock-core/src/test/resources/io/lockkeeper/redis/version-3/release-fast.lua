-- The fastest paths of release.lua, put in front of it, for one lock that no attempt waits for, and whose key lives long enough:
-- one attempt holds it alone, or a reader leaves. They do what the whole script would do, and only that part of it; where
-- anything is unusual they do nothing, and the rest decides. So it is on a full server, which refuses the write. To let a key
-- live a little longer costs less than to give it another end.
--
-- KEYS, ARGV and replies: those of release.lua

local ending, key, several, another, alive, entry = ARGV[1], KEYS[1], KEYS[2]
local me, used = sub(ending, 1, 20), sub(ending, 21, 36)
local raw = not ARGV[2] and redis.pcall('HGET', key, 'lock')
local held = raw and #raw >= 142 and sub(raw, 86, 105) == me

if held then
  if #raw == 142 and not several and sub(raw, 1, 17) == HELD then
    local first = sub(raw, 48, 63)
    if (used == first or (used == NO_TOKEN and sub(raw, 107, 111) == '00001'))
      and redis.pcall('HSET', key, 'lock', FREE .. sub(raw, 18, 30) .. clock .. ' ' .. first .. ' ' .. me) == 0 then
      return clock
    end
  end
  held = sub(raw, 1, 1) == '3' and sub(raw, 2, 2) ~= 'K'
elseif raw and #raw > 84 and not several and sub(raw, 1, 2) == '3-' and sub(raw, 85) == READING then
  local all, now = redis.call('HGET', key, 'readers'), sub(clock, 1, 13)
  local place = #all <= MOST * 34 and string.find(all, me, 1, true)
  local leaves = place and sub(all, place + 33, place + 33) ~= 'K'
    and (sub(raw, 4, 17) == LIVES or sub(all, place + 20, place + 32) - now <= LEASE + 0)
  for other = 21, leaves and #all or 0, 34 do
    leaves = leaves and sub(all, other, other + 12) > now
  end
  if leaves then
    local readers = sub(all, 1, place - 1) .. sub(all, place + 34)
    if redis.pcall('HSET', key, 'readers', readers, 'lock', '3--' .. sub(raw, 4, 30) .. clock .. ' ' .. sub(raw, 48, 64) .. me
      .. (readers == '' and '' or READING)) == 0 then
      return clock
    end
  end
end
