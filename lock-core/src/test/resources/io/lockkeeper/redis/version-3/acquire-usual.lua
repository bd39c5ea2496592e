-- Further fast paths of acquire.lua: all locks are free; or only readers have one, and one more asks.

if in_time then
  local known = raw and #raw >= 84 and sub(raw, 1, 1) == '3' and sub(raw, 65, 84) ~= me
  local no_copy = known and (sub(raw, 31, 46) < sent or sub(raw, 31, 46) > clock)
  if no_copy and mode == 'R' and not several and (#raw == 84 or sub(raw, 85) == READING) then
    local readers, last, least = '', sub(raw, 48, 63), nil
    local now, all_live = sub(clock, 1, 13), true
    local spared = sub(raw, 4, 17) == LIVES and clock < sub(raw, 18, 27) and lease <= LEASE and sub(raw, 4, 28)
    if #raw > 84 then
      readers = redis.call('HGET', key, 'readers')
      all_live = #readers < MOST * 34 and not string.find(readers, me, 1, true)
      for place = 21, all_live and #readers or 0, 34 do
        all_live = all_live and sub(readers, place, place + 12) > now
      end
      least = all_live and not spared and redis.call('PTTL', key)
    end
    if all_live then
      local lives = spared or prolong_key(key, lease, least)
      local written = redis.pcall('HSET', key, 'readers', readers .. me .. math.min(now + lease, 9999999999999) .. 'H',
        'lock', '3-' .. sub(raw, 3, 3) .. lives .. 'R ' .. clock .. ' ' .. last .. sub(raw, 64, 84) .. READING)
      if type(written) == 'number' then
        return 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. last
      end
    end
  end

  if mode ~= 'R' and (not raw or no_copy and #raw == 84) then
    local raws, reply, first = { raw }, 'ACQUIRED ' .. clock .. ' ' .. lease, nil
    for i, name in ipairs(KEYS) do
      local lock = raw
      if i > 1 then
        lock = redis.pcall('HGET', name, 'lock')
        raws[i] = lock
      end
      if lock then
        local since = #lock == 84 and sub(lock, 1, 1) == '3' and sub(lock, 65) ~= me and sub(lock, 31, 46)
        reply = reply and since and (since < sent or since > clock) and reply
      else
        reply = reply and redis.call('EXISTS', name) == 0 and reply
      end
    end
    for i, name in ipairs(reply and KEYS or {}) do
      local lock, flag, lives, previous = raws[i], '-', nil, ' -------------------- '
      first = clock
      if lock then
        flag, first, previous = sub(lock, 3, 3), sub(lock, 48, 63), sub(lock, 64, 84) .. ' '
        first = first < clock and clock or string.format('%.0f', first + 1)
        -- A command that writes nothing counts as a write: after it, a server without memory would take a new record.
        lives = sub(lock, 4, 17) == LIVES and clock < sub(lock, 18, 27) and lease <= LEASE and sub(lock, 4, 28)
          or prolong_key(name, lease)
      else
        lives = (lease == LEASE and LIVES or '0000000000000 ') .. '0000000000 '
      end
      local written = redis.pcall('HSET', name, 'lock', '3H' .. flag .. lives .. mode .. ' ' .. clock .. ' ' .. first .. previous
        .. sub(claim, 35, 74) .. ' ' .. clock)
      if type(written) ~= 'number' then
        -- It is the first write that a full server refuses: the whole script begins with one that it does not refuse.
        reply = nil
        break
      elseif not lock then
        redis.call('PEXPIRE', name, lease == LEASE and LIFE or lease + TOMBSTONE)
      end
      reply = reply .. ' ' .. first
    end
    if reply then
      return not several and first == clock and clock or reply
    end
  end
end
