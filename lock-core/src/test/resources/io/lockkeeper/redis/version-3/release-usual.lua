-- Further fast paths of release.lua: the lock went to the first who waits for it; or one attempt holds all locks alone, and no
-- other waits for any.

if granted then
  return clock
elseif held then
  local locks = {}
  for i, key in ipairs(KEYS) do
    local lock = raw
    if i > 1 then
      lock = redis.pcall('HGET', key, 'lock')
    end
    if not (lock and #lock == 142 and sub(lock, 1, 1) == '3' and sub(lock, 86, 105) == me and sub(lock, 2, 2) ~= 'K') then
      break
    end
    locks[i] = lock
  end
  for i, lock in ipairs(#locks == #KEYS and locks or {}) do
    local token, count = sub(lock, 48, 63), sub(lock, 107, 111)
    token = i == 1 and last or count == '00001' and token or string.format('%.0f', token + count - 1)
    local ended = sub(lock, 29, 30) .. clock .. ' ' .. token .. ' ' .. me
    -- A key that has the life of a longer lease need not live so long any more.
    if sub(lock, 113, 125) > LEASE
      or redis.pcall('HSET', KEYS[i], 'lock', '3--' .. sub(lock, 4, 28) .. ended) ~= 0 then
      redis.call('PEXPIRE', KEYS[i], TOMBSTONE)
      redis.call('HSET', KEYS[i], 'lock', '3--0000000000000 0000000000 ' .. ended)
    end
  end
  if #locks == #KEYS then
    return clock
  end
end
