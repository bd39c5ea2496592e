-- The usual case of renew.lua, put in front of it: locks that one attempt holds alone, for which nobody waits, and whose end
-- only moves on. It does what the whole script would do for them; the rest renews those that it left out.
--
-- KEYS and ARGV: those of renew.lua

local usual, left_out, exact = {}, false, false
do
  local time = redis.call('TIME')
  local micros = time[1] * 1000000 + time[2]
  local now = math.floor(micros / 1000)
  local known_ms, ends, ends_text, life
  usual[1] = micros
  for i, key in ipairs(KEYS) do
    local at = 4 * i - 2
    if ARGV[at + 1] ~= known_ms then
      known_ms = ARGV[at + 1]
      ends = now + known_ms
      ends_text = string.format('%.0f', ends)
      life = string.format('%.0f', known_ms + ARGV[1])
    end
    -- An exact end may be an earlier one, and what comes behind it in the same command must not be overtaken by it.
    exact = exact or ARGV[at + 2] ~= '0'
    local raw = redis.pcall('HMGET', key, 'granted', 'owner', 'until')
    local old = raw[1] == 'plain' and raw[2] == ARGV[at] and tonumber(raw[3])
    if not exact and old and old > now and old <= ends and ARGV[at + 3] == '0' then
      redis.call('PEXPIRE', key, life)
      redis.call('HSET', key, 'until', ends_text)
      usual[i + 1] = 1
    else
      usual[i + 1], left_out = 0, true
    end
  end
end
if not left_out then
  return usual
end
