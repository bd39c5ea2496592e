-- Looks at a lock. Writes nothing.
--
-- KEYS[1]  the lock record
--
-- Replies, each with the server time in ms:
--   HELD now mode owner token remaining_ms  somebody holds the lock
--   FREE now                                nobody does
--   FOREIGN now                             the key holds something that is not a lock record of this version

local now = math.floor(server_micros() / 1000)
local record = read_record()
if not record then
  return { 'FOREIGN', now }
end
if record.owner == '' or record.ends <= now then
  return { 'FREE', now }
end
return { 'HELD', now, redis.call('HGET', KEYS[1], 'mode'), record.owner, record.token, record.ends - now }
