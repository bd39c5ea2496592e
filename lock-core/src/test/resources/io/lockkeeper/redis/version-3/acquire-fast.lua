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
local raw = in_time and redis.pcall('HGET', key, 'lock')

if raw and #raw == 84 and mode ~= 'R' and not several and sub(raw, 1, 17) == FREE then
  local spared, since, previous = sub(raw, 18, 28), sub(raw, 31, 46), sub(raw, 65)
  -- A lock that was touched after the command was sent may mean that this is a late copy.
  if clock < spared and previous ~= me and (since < sent or since > clock) and sub(raw, 48, 63) < clock
    and lease <= LEASE
    and redis.pcall('HSET', key, 'lock', HELD .. spared .. mode .. ' ' .. clock .. ' ' .. clock .. ' ' .. previous .. ' '
      .. sub(claim, 35, 74) .. ' ' .. clock) == 0 then
    return clock
  end
elseif in_time and not raw and mode ~= 'R' and not several and lease == LEASE
  and redis.call('EXISTS', key) == 0 then
  redis.call('HSET', key, 'lock', HELD .. '0000000000 ' .. mode .. ' ' .. clock .. ' ' .. clock .. ' -------------------- '
    .. sub(claim, 35, 74) .. ' ' .. clock)
  redis.call('PEXPIRE', key, LIFE)
  return clock
elseif raw and #raw >= 142 and sub(raw, 1, 1) == '3' and sub(raw, 65, 84) ~= me and sub(claim, 34, 34) == '1'
  and sub(raw, 2, 2) ~= 'K' and sub(raw, 86, 105) ~= me and not several then
  local now = tonumber(sub(clock, 1, 13))
  local left = sub(raw, 127, 139) + sub(raw, 113, 125) - now
  local head, tail, waiting, latest, marked = string.match(raw, '^ (%d+) (%d+) (%d+) (%d+) (%d)$', 143)
  -- The owner may want to hear of the first who waits.
  if left > 0 and marked ~= '1' and (tail or sub(raw, 107, 111) < '10000') then
    local place = tail and redis.call('HGET', key, me)
    local entry = place and redis.call('HGET', key, place)
    local written = 0
    if not entry or (sub(entry, 22, 34) - now) * 8 < ALIVE * 5 then
      local alive = math.min(now + ALIVE, 9999999999999) .. ''
      if not place then
        head, place, waiting = head or '1', tail or '1', (waiting or 0) + 1
        tail = place + 1
      end
      latest = latest and latest > alive and latest or alive
      -- The key lives as long as the hold for which this one waits. A full server refuses this, and takes what the rest does.
      written = redis.pcall('HSET', key, 'lock', sub(raw, 1, 142) .. ' ' .. head .. ' ' .. tail .. ' ' .. waiting .. ' ' .. latest
        .. ' 0', me, place, place, mode .. me .. alive .. (lease < GRANT and lease or GRANT) .. sub(claim, 56, 60))
    end
    if type(written) == 'number' then
      return 'QUEUED ' .. clock .. ' ' .. sub(raw, 86, 105) .. ' ' .. left
    end
  end
end
