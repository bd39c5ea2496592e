-- The usual cases of release.lua, put in front of it: one lock that one attempt holds alone, and for which nobody waits, or
-- which the first who waits can have. They do what the whole script would do, and only that part of it; where anything is
-- unusual they do nothing, and the rest decides.
--
-- KEYS, ARGV and replies: those of release.lua

if #KEYS == 1 and ARGV[3] == '0' then
  local key, me = KEYS[1], ARGV[1]
  local raw = redis.pcall('HMGET', key, 'granted', 'owner', 'first', 'token')
  if raw[2] == me and raw[3] and raw[4] then
    local time = redis.call('TIME')
    local text = time[1] .. string.sub('00000' .. time[2], -6)
    local last_token = tonumber(ARGV[2])
    local done = raw[1] ~= 'plain' and grant_next(key, me, text, last_token, ARGV[4], ARGV[5])
    if raw[1] == 'plain' then
      done = true
      redis.call('PEXPIRE', key, ARGV[5])
      if last_token >= raw[3] - 1 and last_token < tonumber(raw[4]) then
        redis.call('HSET', key, 'owner', '', 'token', ARGV[2], 'until', '0', 'since', text, 'previous', me)
      else
        redis.call('HSET', key, 'owner', '', 'until', '0', 'since', text, 'previous', me)
      end
    end
    if done then
      local micros = tonumber(text)
      return ARGV[6] == '1' and micros or { 'RELEASED', micros }
    end
  end
end
