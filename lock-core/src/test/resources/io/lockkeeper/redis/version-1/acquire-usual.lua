-- The usual cases of acquire.lua, put in front of it: one lock that nobody has, and for which nobody waits; or one that
-- somebody holds alone, and the attempt waits behind all others. They do what the whole script would do, and only that part
-- of it; where anything is unusual they do nothing, and the rest decides.
-- Redis spends half of its time on turning numbers into texts and on arrays: hence the texts, and the reply of one number.
--
-- KEYS, ARGV and replies: those of acquire.lua

local mode = ARGV[2] == 'X' and 'exclusive' or ARGV[2] == 'F' and 'fair' or ARGV[2] == 'W' and 'write'
if mode and #KEYS == 1 and ARGV[11] == '0' then
  local key, me = KEYS[1], ARGV[1]
  local time = redis.call('TIME')
  local text = time[1] .. string.sub('00000' .. time[2], -6)
  local micros = tonumber(text)
  local now = math.floor(micros / 1000)
  local raw = redis.pcall('HMGET', key, 'granted', 'owner', 'previous', 'since', 'token')
  local in_time = now <= tonumber(ARGV[8]) and raw[3] ~= me
  local known = raw[1] == 'plain' and raw[2] == ''
  local since = known and tonumber(raw[4])
  -- A lock that was touched after the command was sent may mean that this is a late copy.
  if in_time and ((known and (since < tonumber(ARGV[7]) or since > micros))
      or (not raw.err and not raw[1] and redis.call('EXISTS', key) == 0)) then
    local lease_ms = tonumber(ARGV[3])
    local first, first_text = micros, text
    if known and raw[5] + 1 > micros then
      first = raw[5] + 1
      first_text = string.format('%.0f', first)
    end
    local token = ARGV[6] == '1' and first_text or first + ARGV[6] - 1
    local ends, life = now + lease_ms, lease_ms + ARGV[10]
    if known then
      redis.call('PEXPIRE', key, life)
      redis.call('HSET', key, 'mode', mode, 'owner', me, 'token', token, 'first', first_text, 'until', ends, 'since', text)
    else
      redis.call('HSET', key, 'version', '1', 'mode', mode, 'owner', me, 'token', token, 'first', first_text,
        'until', ends, 'since', text, 'granted', 'plain', 'previous', '', 'readers', '', 'queue', '')
      redis.call('PEXPIRE', key, life)
    end
    if first == micros and ARGV[12] == '1' then
      return micros
    end
    return { 'ACQUIRED', micros, lease_ms, first }
  end
  if in_time and ARGV[4] ~= '0' and raw[2] and raw[2] ~= '' and raw[2] ~= me then
    local held = redis.call('HMGET', key, 'version', 'until', 'queue', 'first')
    local ends, queue = tonumber(held[2] or 0), held[3]
    -- The owner may want to hear of the first who waits; those in front may be gone.
    if held[1] == '1' and ends > now and queue and held[4] and raw[5] and ((queue == '' and raw[5] - held[4] < 9999)
        or (queue ~= '' and tonumber(string.sub(queue, 22, 34)) >= now)) then
      local entry = string.format('%s%s%013.0f%06d%05d', ARGV[2], me, math.min(now + ARGV[4], 9999999999999),
        math.min(ARGV[5], 999999), ARGV[6])
      local place = string.find(queue, me, 1, true)
      if place then
        entry = string.sub(queue, 1, place - 2) .. entry .. string.sub(queue, place + 44)
      else
        entry = queue .. entry
      end
      redis.call('PEXPIRE', key, ends - now + ARGV[10])
      if raw[1] == 'plain' then
        redis.call('HSET', key, 'queue', entry, 'granted', '0')
      else
        redis.call('HSET', key, 'queue', entry)
      end
      return { 'QUEUED', micros, raw[2], ends - now }
    end
  end
end
