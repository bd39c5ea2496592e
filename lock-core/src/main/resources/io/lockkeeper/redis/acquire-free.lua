-- The usual case of acquire.lua, put in front of it: one lock that nobody has, and for which nobody waits. It does what the
-- whole script would do, and only that part of it; where anything is unusual it does nothing, and the rest decides.
--
-- KEYS, ARGV and replies: those of acquire.lua

local mode = ({ X = 'exclusive', F = 'fair', W = 'write' })[ARGV[2]]
if mode and #KEYS == 1 and ARGV[11] == '0' then
  local key, me = KEYS[1], ARGV[1]
  local time = redis.call('TIME')
  local micros = time[1] * 1000000 + time[2]
  local now = math.floor(micros / 1000)
  local raw = redis.pcall('HMGET', key, 'version', 'owner', 'readers', 'queue', 'previous', 'since', 'token')
  local known = raw[1] == '1' and raw[2] == '' and raw[3] == '' and raw[4] == '' and raw[5] ~= me
  local since = known and tonumber(raw[6])
  -- A lock that was touched after the command was sent may mean that this is a late copy.
  if now <= tonumber(ARGV[8]) and ((known and (since < tonumber(ARGV[7]) or since > micros))
      or (not raw.err and not raw[1] and redis.call('EXISTS', key) == 0)) then
    local lease_ms = tonumber(ARGV[3])
    local first = known and math.max(raw[7] + 1, micros) or micros
    local token, ends, life = first + ARGV[6] - 1, now + lease_ms, lease_ms + ARGV[10]
    if known then
      redis.call('PEXPIRE', key, life)
      redis.call('HSET', key, 'mode', mode, 'owner', me, 'token', token, 'first', first, 'until', ends, 'since', micros)
    else
      redis.call('HSET', key, 'version', '1', 'mode', mode, 'owner', me, 'token', token, 'first', first, 'until', ends,
        'since', micros, 'granted', '0', 'previous', '', 'readers', '', 'queue', '')
      redis.call('PEXPIRE', key, life)
    end
    return { 'ACQUIRED', micros, lease_ms, first }
  end
end
