-- The usual case of handover.lua, put in front of it: the first who waits can have the lock, and the next attempt waits
-- behind all others. It does what the whole script would do, and only that part of it; where anything is unusual it does
-- nothing, and the rest decides.
--
-- KEYS, ARGV and replies: those of handover.lua

if ARGV[12] == '0' then
  local time = redis.call('TIME')
  local text = time[1] .. string.sub('00000' .. time[2], -6)
  local micros = tonumber(text)
  local now = math.floor(micros / 1000)
  if now <= tonumber(ARGV[9]) then
    local entry = string.format('%s%s%013.0f%06d%05d', ARGV[4], ARGV[3], math.min(now + ARGV[6], 9999999999999),
      math.min(ARGV[7], 999999), ARGV[8])
    local head, grant_ms = grant_next(KEYS[1], ARGV[1], text, tonumber(ARGV[2]), ARGV[10], ARGV[11], ARGV[3], entry)
    if head then
      return { 'QUEUED', micros, head, grant_ms }
    end
  end
end
