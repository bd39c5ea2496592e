-- The usual case of release.lua, put in front of it: one lock that one attempt holds alone, and for which nobody waits. It
-- does what the whole script would do, and only that part of it; where anything is unusual it does nothing, and the rest
-- decides.
--
-- KEYS, ARGV and replies: those of release.lua

if #KEYS == 1 and ARGV[3] == '0' then
  local key, me = KEYS[1], ARGV[1]
  local raw = redis.pcall('HMGET', key, 'version', 'owner', 'readers', 'queue', 'previous', 'token', 'first')
  if raw[1] == '1' and raw[2] == me and raw[3] == '' and raw[4] == '' and raw[5] ~= me then
    local time = redis.call('TIME')
    local micros = time[1] * 1000000 + time[2]
    local token, last_token = tonumber(raw[6]), tonumber(ARGV[2])
    if last_token >= raw[7] - 1 and last_token < token then
      token = last_token
    end
    redis.call('PEXPIRE', key, ARGV[5])
    redis.call('HSET', key, 'owner', '', 'token', token, 'until', '0', 'since', micros, 'granted', '0', 'previous', me)
    return { 'RELEASED', micros }
  end
end
