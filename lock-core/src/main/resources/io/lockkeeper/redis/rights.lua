-- Tells which commands of the other scripts the Redis user of this connection may not run. What it writes is gone at once.
--
-- KEYS[1]  a key that begins as those of locks do, and is none
--
-- Reply: REFUSED and the commands that were, and 'keys' where it was for the key

local refused = { 'REFUSED' }

local function may(...)
  local reply = redis.pcall(...)
  local message = type(reply) == 'table' and reply.err or ''
  if string.find(message, 'the keys', 1, true) or string.find(message, 'to access', 1, true) then
    refused[#refused + 1] = 'keys'
    return false
  end
  if string.find(message, "can't run this command", 1, true) or string.find(message, 'permissions to run', 1, true) then
    refused[#refused + 1] = string.lower((...))
    return false
  end
  return true
end

may('TIME')
may('EXISTS', KEYS[1])
may('HGET', KEYS[1], 'lock')
may('HMGET', KEYS[1], 'lock')
may('HKEYS', KEYS[1])
may('PTTL', KEYS[1])
may('SCAN', '0', 'COUNT', '1')
if may('PEXPIRE', KEYS[1], '1') and may('UNLINK', KEYS[1]) and may('HSET', KEYS[1], 'lock', '') then
  may('HDEL', KEYS[1], 'none')
  redis.call('UNLINK', KEYS[1])
end
return table.concat(refused, ' ')
