-- Shared by the usual cases of release.lua and handover.lua: what one attempt holds alone goes to the first who waits for it.

-- Ends the hold of one lock, grants the lock, and returns the new owner and for how long it has the lock, ms. Does nothing,
-- and returns nothing, where anything is unusual.
--   time        the server time as it is written, us
--   last_token  the last fencing token that was used
--   another     an attempt of the same client that waits from now on behind all others, and its entry; nil: there is none
local function grant_next(key, me, time, last_token, channel_prefix, tombstone_ms, another, entry)
  local raw = redis.pcall('HMGET', key, 'version', 'owner', 'previous', 'queue', 'first', 'token', 'until')
  local previous, queue = raw[3], raw[4]
  if raw[1] ~= '1' or raw[2] ~= me or previous == me or not (queue and raw[5] and raw[6] and raw[7]) or #queue < 45
      or (another and (previous == another or string.find(queue, another, 1, true))) then
    return nil
  end
  local mode, head = string.sub(queue, 1, 1), string.sub(queue, 2, 21)
  mode = mode == 'X' and 'exclusive' or mode == 'F' and 'fair' or mode == 'W' and 'write'
  local micros = tonumber(time)
  local now = math.floor(micros / 1000)
  local grant_ms = tonumber(string.sub(queue, 35, 40))
  local ends = now + grant_ms
  if not mode or head == me or tonumber(string.sub(queue, 22, 34)) < now then
    return nil
  end
  local rest = string.sub(queue, 46)
  if rest ~= '' and tonumber(string.sub(rest, 22, 34)) < now then
    return nil
  end
  local before = tonumber(raw[6])
  if last_token >= raw[5] - 1 and last_token < before then
    before = last_token
  end
  local first, first_text = micros, time
  if before + 1 > micros then
    first = before + 1
    first_text = string.format('%.0f', first)
  end
  local tokens = tonumber(string.sub(queue, 41, 45))
  redis.call('PEXPIRE', key, grant_ms + tombstone_ms)
  redis.call('HSET', key, 'mode', mode, 'owner', head, 'token', tokens == 1 and first_text or first + tokens - 1,
    'first', first_text, 'until', ends, 'since', time, 'granted', '1', 'previous', me,
    'queue', rest .. (entry or ''))
  redis.pcall('PUBLISH', channel_prefix .. string.sub(head, 1, 12),
    'grant ' .. head .. ' ' .. first_text .. ' ' .. string.format('%.0f', ends) .. ' ' .. key)
  if not another and rest ~= '' and ends < tonumber(raw[7]) then
    -- The lock is free sooner than the next one may think.
    local waiter = string.sub(rest, 2, 21)
    redis.pcall('PUBLISH', channel_prefix .. string.sub(waiter, 1, 12),
      'free-at ' .. waiter .. ' ' .. string.format('%.0f', grant_ms) .. ' ' .. key)
  end
  return head, grant_ms
end
