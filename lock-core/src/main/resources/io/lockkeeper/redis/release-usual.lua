-- Further fast paths of release.lua: the lock went to the first who waits for it; or one attempt holds all locks alone, and no
-- other waits for any.

if granted then
  return clock
elseif held then
  local locks, holds = {}, {}
  for i, name in ipairs(KEYS) do
    if i > 1 then
      lock = redis.pcall('HGET', name, 'lock')
      hold = lock and #lock == 64 and sub(lock, 1, 2) == '4O' and redis.call('HGET', name, 'hold')
    end
    if not (hold and #lock == 64 and sub(hold, 3, 22) == me and (sub(hold, 2, 2) == 'H' or sub(hold, 2, 2) == 'G')) then
      break
    end
    locks[i], holds[i] = lock, hold
  end
  for i, name in ipairs(#locks == #KEYS and KEYS or {}) do
    lock, hold = locks[i], holds[i]
    local token, count, lives = sub(lock, 20, 35), sub(lock, 36, 44), sub(hold, 55)
    token = i == 1 and last or count == '000000001' and token or string.format('%.0f', token + count - 1)
    local ended = '4-' .. sub(lock, 3, 3) .. clock .. token
    -- A key that has the life of a longer lease need not live so long any more.
    if sub(hold, 24, 36) > LEASE or redis.pcall('HSET', name, 'lock', ended .. lives .. me, 'hold', NO_HOLD) ~= 0 then
      redis.call('PEXPIRE', name, TOMBSTONE)
      redis.call('HSET', name, 'lock', ended .. '000000000' .. me, 'hold', NO_HOLD)
    end
  end
  if #locks == #KEYS then
    return clock
  end
end
