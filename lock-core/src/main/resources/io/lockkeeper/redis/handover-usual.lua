-- Further fast paths of handover.lua: the lock went to the first who waits for it, and the next attempt waits behind all others;
-- or no attempt waits, and the next attempt holds the lock.

if granted then
  return 'QUEUED ' .. clock .. ' ' .. granted .. ' ' .. grant + 0
elseif held and #lock == 64 then
  local first = last < clock and clock or string.format('%.0f', last + 1)
  local holds, lives = '4H' .. another .. ' ' .. lease .. ' ' .. clock .. ' ', sub(hold, 55)
  lock = '4O' .. mode .. clock .. first .. '0000' .. tokens .. me
  -- A full server refuses this, unless the key is given another end first.
  if lease > LEASE or lives - sub(time[1], 2) < NEEDED or lives - sub(time[1], 2) > LONGEST
    or redis.pcall('HSET', key, 'lock', lock, 'hold', holds .. lives) ~= 0 then
    redis.call('HSET', key, 'hold', holds .. prolong_key(key, lease), 'lock', lock)
  end
  return first == clock and clock or 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. first
end
