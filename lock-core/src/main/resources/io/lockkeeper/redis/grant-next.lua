-- A fast path that release.lua and handover.lua share: what one attempt holds alone goes to the first who waits for it. What it
-- uses of the script before it:
--   held              whether the attempt holds the lock
--   key, several      the first key, and a second one; nil: there is none
--   lock, hold        what is known of the lock
--   me, used          the attempt, and the last fencing token that it used
--   another           an attempt of the same client that waits from now on behind all others
--   alive, entry      until when it is alive, and its place; nil: there is none, as of the former
-- What it tells the script behind it:
--   last              the last fencing token that the attempt has used, or keeps reserved
--   granted, grant    the new owner, and for how long it has the lock, ms; nil: something is unusual, and nothing was done

local last, granted, grant
if held then
  local count = sub(lock, 36, 44)
  last = sub(lock, 20, 35)
  if used ~= last and (used ~= NO_TOKEN or count ~= '000000001') then
    local offset = used - last
    last = offset >= -1 and offset < count - 1 and used or string.format('%.0f', last + count - 1)
  end
end
if held and #lock > 64 and not several then
  local now, next_up, follows = sub(clock, 1, 13), nil, nil
  local head, tail, waiting, latest, marked = string.match(lock, '^ (%d+) (%d+) (%d+) (%d+) (%d)$', 65)
  -- With the last place, the marks of clients that are gone have to go.
  if marked == '0' or (marked and waiting ~= '1') then
    local found = another and redis.call('HMGET', key, head, another) or { redis.call('HGET', key, head) }
    next_up = not found[2] and found[1]
    next_up = next_up and not (marked == '1' and redis.call('HGET', key, sub(next_up, 2, 13))) and next_up
  end
  if next_up and sub(next_up, 22, 34) >= now and sub(next_up, 1, 1) ~= 'R' then
    granted, grant = sub(next_up, 2, 21), sub(next_up, 35, 47)
    if not another and waiting ~= '1' and now + grant < sub(hold, 38, 50) + sub(hold, 24, 36) then
      -- The lock is free sooner than the next one may think.
      follows = redis.call('HGET', key, head + 1)
      granted = follows and sub(follows, 22, 34) >= now and granted
      granted = granted and not (marked == '1' and redis.call('HGET', key, sub(follows, 2, 13))) and granted
    end
    granted = grant <= LEASE and granted or nil
  end
  if granted then
    local token, queue, lives = last < clock and clock or string.format('%.0f', last + 1), '', sub(hold, 55)
    if another and waiting == '1' then
      queue, tail = ' 1 2 1 ' .. alive .. ' 0', '1'
    elseif another then
      queue = ' ' .. head + 1 .. ' ' .. tail + 1 .. ' ' .. waiting .. ' ' .. (alive > latest and alive or latest) .. ' ' .. marked
    elseif waiting ~= '1' then
      queue = ' ' .. head + 1 .. ' ' .. tail .. ' ' .. waiting - 1 .. ' ' .. latest .. ' ' .. marked
    end
    if lives - sub(time[1], 2) < NEEDED or lives - sub(time[1], 2) > LONGEST then
      redis.call('PEXPIRE', key, LONGER_LIFE)
      lives = sub(time[1] + GIVEN, 2)
    end
    -- A full server does not refuse this, and then takes the rest.
    redis.call('HDEL', key, head, granted)
    lock = '4O' .. sub(next_up, 1, 1) .. clock .. token .. '0000' .. sub(next_up, 48, 52) .. me .. queue
    hold = '4G' .. granted .. ' ' .. grant .. ' ' .. clock .. ' ' .. lives
    if another then
      redis.call('HSET', key, 'lock', lock, 'hold', hold, another, tail, tail, entry)
    else
      redis.call('HSET', key, 'lock', lock, 'hold', hold)
    end
    redis.pcall('PUBLISH', CHANNELS .. sub(granted, 1, 12), 'grant ' .. granted .. ' ' .. token .. ' ' .. now + grant .. ' ' .. key)
    if follows then
      redis.pcall('PUBLISH', CHANNELS .. sub(follows, 2, 13), 'free-at ' .. sub(follows, 2, 21) .. ' ' .. grant + 0 .. ' ' .. key)
    end
  end
end
