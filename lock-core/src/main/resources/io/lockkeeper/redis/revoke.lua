-- Takes a lock away from all who hold it, tells them, and serves those who wait. Idempotent for each request: a copy would
-- take the lock away from those who hold it after them.
--
-- KEYS[1]  the lock record
-- ARGV[1]  prefix of the grant channels ARGV[2]  life of a tombstone, ms
-- ARGV[3]  id of the request
--
-- Replies, each with the server time in us:
--   REVOKED now      somebody held the lock
--   FREE now         nobody did
--   FOREIGN now key  the key holds something that is not a lock record of this version
-- A copy has the reply that the request had. Only where there was no record it is not known for one.

channel_prefix, tombstone_ms = ARGV[1], tonumber(ARGV[2])

local record = read_record(KEYS[1])
if not record then
  return { 'FOREIGN', micros, KEYS[1] }
end
local answered = redis.call('HGET', KEYS[1], 'revoked')
if answered == 'REVOKED ' .. ARGV[3] or answered == 'FREE ' .. ARGV[3] then
  return { string.match(answered, '%u+'), micros }
end
local function answer(reply)
  redis.pcall('HSET', KEYS[1], 'revoked', reply .. ' ' .. ARGV[3])
  return { reply, micros }
end
end_lapsed_holds(record)
if holder(record) == '' then
  serve(record)
  if record.changed then
    save(record)
  end
  return record.exists and answer('FREE') or { 'FREE', micros }
end
local function revoke(attempt)
  tell(record, attempt, 'revoke ' .. attempt)
  record.previous = attempt
end
if record.owner ~= '' then
  revoke(record.owner)
end
for place = 1, #record.readers, READER do
  revoke(string.sub(record.readers, place, place + 19))
end
record.owner, record.granted, record.readers, record.since = '', false, '', micros
serve(record)
save(record)
return answer('REVOKED')
