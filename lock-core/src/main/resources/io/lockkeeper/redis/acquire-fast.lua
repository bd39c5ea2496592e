-- The fast paths of acquire.lua, put in front of it, for one lock: it is free; or only readers have it, and one more asks; or
-- one attempt holds it alone, and this one waits behind all others, or shows that it still waits. They do what the whole script
-- would do, and only that part of it; where anything is unusual they do nothing, and the rest decides.
--
-- KEYS, ARGV and replies: those of acquire.lua

if #KEYS == 1 and clock <= ARGV[6] and ARGV[9] == '0' then
  local key, me, mode, lease, tokens = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
  local raw = redis.pcall('HGET', key, 'lock')
  local known = type(raw) == 'string' and sub(raw, 1, 2) == '2 ' and sub(raw, 47, 66) ~= me
  local state = known and sub(raw, 4, 4)
  -- A lock that was touched after the command was sent may mean that this is a late copy.
  local in_doubt = known and sub(raw, 7, 22) >= ARGV[5] and sub(raw, 7, 22) <= clock
  if mode ~= 'R' and state == '-' and #raw == 66 and not in_doubt then
    local first = sub(raw, 24, 39)
    first = first < clock and clock or string.format('%.0f', first + 1)
    redis.call('PEXPIRE', key, ARGV[8])
    redis.call('HSET', key, 'lock', '2 ' .. mode .. 'H' .. sub(raw, 5, 6) .. clock .. ' ' .. first .. ' ' .. tokens
      .. sub(raw, 46, 66) .. ' ' .. me .. ' ' .. clock .. ' ' .. lease)
    return first == clock and { clock } or { 'ACQUIRED', clock, tonumber(lease), first }
  elseif mode ~= 'R' and not raw and redis.call('EXISTS', key) == 0 then
    redis.call('HSET', key, 'lock', '2 ' .. mode .. 'H- ' .. clock .. ' ' .. clock .. ' ' .. tokens
      .. ' -------------------- ' .. me .. ' ' .. clock .. ' ' .. lease)
    redis.call('PEXPIRE', key, ARGV[8])
    return { clock }
  elseif mode == 'R' and state == '-' and not in_doubt and (#raw == 66 or sub(raw, 67) == READING) then
    local readers, now = #raw > 66 and redis.call('HGET', key, 'readers') or '', sub(clock, 1, 13)
    local all_live = #readers < MOST * 34 and not string.find(readers, me, 1, true)
    for place = 21, all_live and #readers or 0, 34 do
      all_live = all_live and sub(readers, place, place + 12) > now
    end
    if all_live then
      redis.call('PEXPIRE', key, readers == '' and ARGV[8] or math.max(ARGV[8], redis.call('PTTL', key)))
      redis.call('HSET', key, 'readers', readers .. me .. math.min(now + lease, 9999999999999) .. 'H',
        'lock', '2 R' .. sub(raw, 4, 6) .. clock .. sub(raw, 23, 66) .. READING)
      return { 'ACQUIRED', clock, tonumber(lease), sub(raw, 24, 39) }
    end
  elseif ARGV[7] == '1' and (state == 'H' or state == 'G') and sub(raw, 68, 87) ~= me then
    local now = tonumber(sub(clock, 1, 13))
    local left = sub(raw, 89, 101) + sub(raw, 106, 118) - now
    local head, tail, waiting, latest, marked = string.match(raw, '^ (%d+) (%d+) (%d+) (%d+) (%d)$', 119)
    -- The owner may want to hear of the first who waits.
    if left > 0 and marked ~= '1' and (tail or sub(raw, 41, 45) < '10000') then
      local place, alive = tail and redis.call('HGET', key, me), sub(ARGV[10], 29, 41)
      local entry = place and redis.call('HGET', key, place)
      if not entry or (sub(entry, 22, 34) - now) * 8 < alive * 5 then
        alive = math.min(now + alive, 9999999999999) .. ''
        if not place then
          head, place, waiting = head or '1', tail or '1', (waiting or 0) + 1
          tail = place + 1
        end
        latest = latest and latest > alive and latest or alive
        redis.call('PEXPIRE', key, left + sub(ARGV[10], 15, 27))
        redis.call('HSET', key, 'lock', sub(raw, 1, 118) .. ' ' .. head .. ' ' .. tail .. ' ' .. waiting .. ' ' .. latest .. ' 0',
          me, place, place, mode .. me .. alive .. (lease < sub(ARGV[10], 43, 55) and lease or sub(ARGV[10], 43, 55)) .. tokens)
      end
      return { 'QUEUED', clock, sub(raw, 68, 87), left }
    end
  end
end
