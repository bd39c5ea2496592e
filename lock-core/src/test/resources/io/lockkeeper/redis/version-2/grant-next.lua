-- Shared by the fast paths of release.lua and handover.lua: what one attempt holds alone goes to the first who waits for it.

-- Ends the hold of one lock, grants the lock, and returns the new owner and for how long it has the lock, ms. Does nothing,
-- and returns nothing, where anything is unusual.
--   raw       what is known of the lock
--   used      the last fencing token that was used
--   another   an attempt of the same client that waits from now on behind all others, until when, and its entry; nil: none
local function grant_next(key, me, raw, used, another, alive, entry)
  local head, tail, waiting, latest, marked = string.match(raw, '^ (%d+) (%d+) (%d+) (%d+) (%d)$', 119)
  if marked ~= '0' then
    return nil
  end
  local found = redis.call('HMGET', key, head, another or 'lock')
  local first, now = found[1], sub(clock, 1, 13)
  if not first or (another and found[2]) or sub(first, 22, 34) < now or sub(first, 1, 1) == 'R' then
    return nil
  end
  local attempt, grant, follows = sub(first, 2, 21), sub(first, 35, 47), nil
  local ends = now + grant
  if not another and waiting ~= '1' and ends < sub(raw, 89, 101) + sub(raw, 106, 118) then
    -- The lock is free sooner than the next one may think.
    follows = redis.call('HGET', key, head + 1)
    if not follows or sub(follows, 22, 34) < now then
      return nil
    end
  end
  local token, queue = last_token(raw, used), ''
  token = token < clock and clock or string.format('%.0f', token + 1)
  local last = waiting == '1'
  if another and last then
    queue, tail = ' 1 2 1 ' .. alive .. ' 0', '1'
  elseif another then
    queue = ' ' .. head + 1 .. ' ' .. tail + 1 .. ' ' .. waiting .. ' ' .. (alive > latest and alive or latest) .. ' 0'
  elseif not last then
    queue = ' ' .. head + 1 .. ' ' .. tail .. ' ' .. waiting - 1 .. ' ' .. latest .. ' 0'
  end
  local lock = '2 ' .. sub(first, 1, 1) .. 'G- ' .. clock .. ' ' .. token .. ' ' .. sub(first, 48, 52) .. ' ' .. me .. ' '
    .. attempt .. ' ' .. clock .. ' ' .. grant .. queue
  redis.call('PEXPIRE', key, grant + TOMBSTONE)
  redis.call('HDEL', key, head, attempt)
  if another then
    redis.call('HSET', key, 'lock', lock, another, tail, tail, entry)
  else
    redis.call('HSET', key, 'lock', lock)
  end
  redis.pcall('PUBLISH', CHANNELS .. sub(attempt, 1, 12), 'grant ' .. attempt .. ' ' .. token .. ' ' .. ends .. ' ' .. key)
  if follows then
    redis.pcall('PUBLISH', CHANNELS .. sub(follows, 2, 13), 'free-at ' .. sub(follows, 2, 21) .. ' ' .. grant + 0 .. ' ' .. key)
  end
  return attempt, grant + 0
end
