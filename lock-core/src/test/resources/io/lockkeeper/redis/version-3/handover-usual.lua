-- Further fast paths of handover.lua: the lock went to the first who waits for it, and the next attempt waits behind all others;
-- or no attempt waits, and the next attempt holds the lock.

if granted then
  return 'QUEUED ' .. clock .. ' ' .. granted .. ' ' .. grant + 0
elseif held and #raw == 142 then
  local first = last < clock and clock or string.format('%.0f', last + 1)
  local holds = mode .. ' ' .. clock .. ' ' .. first .. ' ' .. me .. ' ' .. sub(claim, 35, 74) .. ' ' .. clock
  local spared = sub(raw, 4, 17) == LIVES and clock < sub(raw, 18, 27) and lease <= LEASE
  -- A full server refuses this, unless the key is given another end first.
  if not spared or redis.pcall('HSET', key, 'lock', '3H-' .. sub(raw, 4, 28) .. holds) ~= 0 then
    redis.call('HSET', key, 'lock', '3H-' .. prolong_key(key, lease) .. holds)
  end
  return first == clock and clock or 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. first
end
