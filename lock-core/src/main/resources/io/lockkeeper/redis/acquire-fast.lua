-- The fastest paths of acquire.lua, put in front of it, for one lock. It is free, its name was used before, and its key lives long
-- enough; or its name is new; or one attempt holds it alone, and this one waits behind all others, or shows that it still waits.
-- They do what the whole script would do, and only that part of it; where anything is unusual they do nothing, and the rest
-- decides. So it is on a full server, which refuses the write of what is not new.
--
-- KEYS, ARGV and replies: those of acquire.lua

local claim, key, several = ARGV[1], KEYS[1], KEYS[2]
local me, mode, sent, lease = sub(claim, 35, 54), sub(claim, 33, 33), sub(claim, 17, 32), sub(claim, 62, 74)
-- The claim begins with the last time at which it may run.
local in_time = clock <= claim and not ARGV[2]
local lock = in_time and redis.pcall('HGET', key, 'lock')
local state, hold = lock and #lock >= 64 and sub(lock, 1, 2), nil

if state == '4-' and mode ~= 'R' and not several and #lock == 64 then
  local since, lives, previous = sub(lock, 4, 19), sub(lock, 36, 44), sub(lock, 45)
  -- A lock that was touched after the command was sent may mean that this is a late copy.
  if previous ~= me and (since < sent or since > clock) and sub(lock, 20, 35) < clock
    and lease <= LEASE and lives - sub(time[1], 2) >= NEEDED and lives - sub(time[1], 2) <= LONGEST
    and redis.pcall('HSET', key, 'lock', '4O' .. mode .. clock .. clock .. '0000' .. sub(claim, 56, 60) .. previous,
      'hold', '4H' .. me .. ' ' .. lease .. ' ' .. clock .. ' ' .. lives) == 0 then
    return clock
  end
elseif in_time and not lock and mode ~= 'R' and not several and lease == LEASE
  and redis.call('EXISTS', key) == 0 then
  redis.call('HSET', key, 'lock', '4O' .. mode .. clock .. clock .. '0000' .. sub(claim, 56, 60) .. '--------------------',
    'hold', '4H' .. me .. ' ' .. lease .. ' ' .. clock .. ' 000000000')
  if redis.pcall('PEXPIRE', key, LIFE) == 1 then
    return clock
  end
  -- Its user may give keys no end, nor perhaps unlink them: the whole script says so, and this one must not stay for ever.
  redis.call('HDEL', key, 'lock', 'hold')
elseif state == '4O' and sub(claim, 34, 34) == '1' and not several and sub(lock, 45, 64) ~= me then
  hold = redis.call('HGET', key, 'hold')
  state = hold and sub(hold, 1, 2)
end

if hold and (state == '4H' or state == '4G') and sub(hold, 3, 22) ~= me then
  local now = tonumber(sub(clock, 1, 13))
  local left = sub(hold, 38, 50) + sub(hold, 24, 36) - now
  local head, tail, waiting, latest, marked = string.match(lock, '^ (%d+) (%d+) (%d+) (%d+) (%d)$', 65)
  -- A client that was gone once may have old places. The owner may want to hear of the first who waits.
  local gone = marked == '1' and redis.call('HGET', key, sub(me, 1, 12))
  if left > 0 and not gone and (tail or sub(lock, 36, 44) < '000010000') then
    local place = tail and redis.call('HGET', key, me)
    local entry = place and redis.call('HGET', key, place)
    -- A server that takes no writes must not say that a place is kept: see must_take_writes.
    local written = entry and (sub(entry, 22, 34) - now) * 8 >= ALIVE * 5 and redis.pcall('HDEL', key, 'none')
    if not written then
      local alive = math.min(now + ALIVE, 9999999999999) .. ''
      if not place then
        head, place, waiting = head or '1', tail or '1', (waiting or 0) + 1
        tail = place + 1
      end
      latest = latest and latest > alive and latest or alive
      -- The key lives as long as the hold for which this one waits. A full server refuses this, and takes what the rest does.
      written = redis.pcall('HSET', key, 'lock', sub(lock, 1, 64) .. ' ' .. head .. ' ' .. tail .. ' ' .. waiting .. ' ' .. latest
        .. ' ' .. (marked or '0'), me, place, place, mode .. me .. alive .. (lease < GRANT and lease or GRANT) .. sub(claim, 56, 60))
    end
    if type(written) == 'number' then
      return 'QUEUED ' .. clock .. ' ' .. sub(hold, 3, 22) .. ' ' .. left
    end
  end
end
