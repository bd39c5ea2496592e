-- The fast paths of acquire.lua, put in front of it: all locks are free; or only readers have one, and one more asks; or one
-- attempt holds one alone, and this one waits behind all others, or shows that it still waits. They do what the whole script
-- would do, and only that part of it; where anything is unusual they do nothing, and the rest decides.
--
-- KEYS, ARGV and replies: those of acquire.lua

local claim = ARGV[1]
local me, mode, lease, tokens, sent = sub(claim, 1, 20), sub(claim, 21, 21), sub(claim, 22, 34), sub(claim, 35, 39), sub(claim, 40, 55)

if clock <= sub(claim, 56, 71) and not ARGV[2] then
  local key = KEYS[1]
  local raw = redis.pcall('HGET', key, 'lock')
  local known = raw and #raw >= 66 and sub(raw, 1, 2) == '2 ' and sub(raw, 47, 66) ~= me
  -- A lock that was touched after the command was sent may mean that this is a late copy.
  local no_copy = known and (sub(raw, 7, 22) < sent or sub(raw, 7, 22) > clock)
  if KEYS[2] then
    key = nil
  elseif no_copy and #raw == 66 and mode ~= 'R' then
    local first = sub(raw, 24, 39)
    first = first < clock and clock or string.format('%.0f', first + 1)
    redis.call('PEXPIRE', key, lease == LEASE and LIFE or lease + TOMBSTONE)
    redis.call('HSET', key, 'lock', '2 ' .. mode .. 'H' .. sub(raw, 5, 6) .. clock .. ' ' .. first .. ' ' .. tokens
      .. sub(raw, 46, 66) .. ' ' .. me .. ' ' .. clock .. ' ' .. lease)
    return first == clock and clock or 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. first
  elseif not raw and mode ~= 'R' and redis.call('EXISTS', key) == 0 then
    redis.call('HSET', key, 'lock', '2 ' .. mode .. 'H- ' .. clock .. ' ' .. clock .. ' ' .. tokens
      .. ' -------------------- ' .. me .. ' ' .. clock .. ' ' .. lease)
    redis.call('PEXPIRE', key, lease == LEASE and LIFE or lease + TOMBSTONE)
    return clock
  elseif no_copy and mode == 'R' and (#raw == 66 or sub(raw, 67) == READING) then
    local readers, life, last = '', lease == LEASE and LIFE or lease + TOMBSTONE, sub(raw, 24, 39)
    local now, all_live = sub(clock, 1, 13), true
    if #raw > 66 then
      readers = redis.call('HGET', key, 'readers')
      all_live = #readers < MOST * 34 and not string.find(readers, me, 1, true)
      for place = 21, all_live and #readers or 0, 34 do
        all_live = all_live and sub(readers, place, place + 12) > now
      end
      life = all_live and math.max(life, redis.call('PTTL', key))
    end
    if all_live then
      redis.call('PEXPIRE', key, life)
      redis.call('HSET', key, 'readers', readers .. me .. math.min(now + lease, 9999999999999) .. 'H',
        'lock', '2 R' .. sub(raw, 4, 6) .. clock .. ' ' .. last .. sub(raw, 40, 66) .. READING)
      return 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. last
    end
  elseif known and #raw >= 118 and sub(raw, 4, 4) ~= 'K' and sub(raw, 68, 87) ~= me and sub(claim, 72) == '1' then
    local now = tonumber(sub(clock, 1, 13))
    local left = sub(raw, 89, 101) + sub(raw, 106, 118) - now
    local head, tail, waiting, latest, marked = string.match(raw, '^ (%d+) (%d+) (%d+) (%d+) (%d)$', 119)
    -- The owner may want to hear of the first who waits.
    if left > 0 and marked ~= '1' and (tail or sub(raw, 41, 45) < '10000') then
      local place = tail and redis.call('HGET', key, me)
      local entry = place and redis.call('HGET', key, place)
      if not entry or (sub(entry, 22, 34) - now) * 8 < ALIVE * 5 then
        local alive = math.min(now + ALIVE, 9999999999999) .. ''
        if not place then
          head, place, waiting = head or '1', tail or '1', (waiting or 0) + 1
          tail = place + 1
        end
        latest = latest and latest > alive and latest or alive
        redis.call('PEXPIRE', key, left + TOMBSTONE)
        redis.call('HSET', key, 'lock', sub(raw, 1, 118) .. ' ' .. head .. ' ' .. tail .. ' ' .. waiting .. ' ' .. latest .. ' 0',
          me, place, place, mode .. me .. alive .. (lease < GRANT and lease or GRANT) .. tokens)
      end
      return 'QUEUED ' .. clock .. ' ' .. sub(raw, 68, 87) .. ' ' .. left
    end
  end

  if KEYS[2] and mode ~= 'R' and (not raw or no_copy and #raw == 66) then
    local raws, reply = { raw }, 'ACQUIRED ' .. clock .. ' ' .. lease
    for i, name in ipairs(KEYS) do
      local lock = raw
      if i > 1 then
        lock = redis.pcall('HGET', name, 'lock')
        raws[i] = lock
      end
      if lock then
        local since = #lock == 66 and sub(lock, 1, 2) == '2 ' and sub(lock, 47, 66) ~= me and sub(lock, 7, 22)
        reply = reply and since and (since < sent or since > clock) and reply
      else
        reply = reply and redis.call('EXISTS', name) == 0 and reply
      end
    end
    for i, name in ipairs(reply and KEYS or {}) do
      local lock = raws[i] or '2 X-- 0000000000000000 0000000000000000 00001 --------------------'
      local first = sub(lock, 24, 39)
      first = first < clock and clock or string.format('%.0f', first + 1)
      -- A command that writes nothing counts as a write: after it, a server without memory would take the new record.
      if raws[i] then
        redis.call('PEXPIRE', name, lease == LEASE and LIFE or lease + TOMBSTONE)
      end
      redis.call('HSET', name, 'lock', '2 ' .. mode .. 'H' .. sub(lock, 5, 6) .. clock .. ' ' .. first .. ' ' .. tokens
        .. sub(lock, 46, 66) .. ' ' .. me .. ' ' .. clock .. ' ' .. lease)
      if not raws[i] then
        redis.call('PEXPIRE', name, lease == LEASE and LIFE or lease + TOMBSTONE)
      end
      reply = reply .. ' ' .. first
    end
    if reply then
      return reply
    end
  end
end
