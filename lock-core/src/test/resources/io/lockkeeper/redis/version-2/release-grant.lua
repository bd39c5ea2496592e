-- Further fast paths of release.lua: one attempt holds all locks alone, and no other waits for any; or for one lock the first who
-- waits can have it.

if raw and sub(raw, 68, 87) == me and sub(raw, 4, 4) ~= 'K' then
  if #raw > 118 and not KEYS[2] and grant_next(KEYS[1], me, raw, used) then
    return clock
  end
  local locks = {}
  for i, key in ipairs(KEYS) do
    local lock = raw
    if i > 1 then
      lock = redis.pcall('HGET', key, 'lock')
    end
    if not (lock and #lock == 118 and sub(lock, 68, 87) == me and sub(lock, 1, 2) == '2 ' and sub(lock, 4, 4) ~= 'K') then
      break
    end
    locks[i] = '2 ' .. sub(lock, 3, 3) .. '-- ' .. clock .. ' ' .. last_token(lock, i == 1 and used or NO_TOKEN) .. ' 00001 ' .. me
  end
  if #locks == #KEYS then
    for i, key in ipairs(KEYS) do
      redis.call('PEXPIRE', key, TOMBSTONE)
      redis.call('HSET', key, 'lock', locks[i])
    end
    return clock
  end
end
