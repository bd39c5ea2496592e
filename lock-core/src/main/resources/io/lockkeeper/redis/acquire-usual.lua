-- Further fast paths of acquire.lua: all locks are free; or only readers have one, and one more asks.

if in_time then
  local no_copy = state and #lock == 64 and sub(lock, 45) ~= me and (sub(lock, 4, 19) < sent or sub(lock, 4, 19) > clock)
  if no_copy and mode == 'R' and not several and (state == '4-' or state == '4R') then
    local readers, last = state == '4R' and redis.call('HGET', key, 'readers') or '', sub(lock, 20, 35)
    local now, all_live = sub(clock, 1, 13), #readers < MOST * 34 and not string.find(readers, me, 1, true)
    for place = 21, all_live and #readers or 0, 34 do
      all_live = all_live and sub(readers, place, place + 12) > now
    end
    if all_live then
      local lives = sub(lock, 36, 44)
      if lease > LEASE or lives - sub(time[1], 2) < NEEDED or lives - sub(time[1], 2) > LONGEST then
        lives = prolong_key(key, lease, state == '4R' and redis.call('PTTL', key) or nil)
      end
      local written = redis.pcall('HSET', key, 'readers', readers .. me .. math.min(now + lease, 9999999999999) .. 'H',
        'lock', '4RR' .. clock .. last .. lives .. sub(lock, 45))
      if type(written) == 'number' then
        return 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. last
      end
    end
  end

  if mode ~= 'R' and (not lock or no_copy and state == '4-') then
    local locks, reply, first = { lock }, 'ACQUIRED ' .. clock .. ' ' .. lease, nil
    for i, name in ipairs(KEYS) do
      if i > 1 then
        lock = redis.pcall('HGET', name, 'lock')
        locks[i] = lock
      end
      if lock then
        local since = #lock == 64 and sub(lock, 1, 2) == '4-' and sub(lock, 45) ~= me and sub(lock, 4, 19)
        reply = reply and since and (since < sent or since > clock) and reply
      else
        reply = reply and redis.call('EXISTS', name) == 0 and reply
      end
    end
    for i, name in ipairs(reply and KEYS or {}) do
      local lives, previous = '000000000', '--------------------'
      first, lock = clock, locks[i]
      if lock then
        first, lives, previous = sub(lock, 20, 35), sub(lock, 36, 44), sub(lock, 45)
        first = first < clock and clock or string.format('%.0f', first + 1)
        -- A command that writes nothing counts as a write: after it, a server without memory would take a new record.
        if lease > LEASE or lives - sub(time[1], 2) < NEEDED or lives - sub(time[1], 2) > LONGEST then
          lives = prolong_key(name, lease)
        end
      end
      local written = redis.pcall('HSET', name,
        'lock', '4O' .. mode .. clock .. first .. '0000' .. sub(claim, 56, 60) .. previous,
        'hold', '4H' .. me .. ' ' .. lease .. ' ' .. clock .. ' ' .. lives)
      if type(written) ~= 'number' then
        -- It is the first write that a full server refuses: the whole script begins with one that it does not refuse.
        reply = nil
        break
      elseif not lock and redis.pcall('PEXPIRE', name, lease == LEASE and LIFE or lease + TOMBSTONE) ~= 1 then
        redis.call('HDEL', name, 'lock', 'hold')
        reply = nil
        break
      end
      reply = reply .. ' ' .. first
    end
    if reply then
      return not several and first == clock and clock or reply
    end
  end
end
