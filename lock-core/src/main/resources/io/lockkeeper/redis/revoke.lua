-- Takes a lock away from all who hold it, tells them, and serves those who wait. Idempotent: nobody is left to revoke.
--
-- KEYS[1]  the lock record
-- ARGV[1]  prefix of the grant channels ARGV[2]  life of a tombstone, ms
--
-- Replies, each with the server time in ms:
--   REVOKED now      somebody held the lock
--   FREE now         nobody did
--   FOREIGN now key  the key holds something that is not a lock record of this version

channel_prefix, tombstone_ms = ARGV[1], tonumber(ARGV[2])

local record = read_record(KEYS[1])
if not record then
  return { 'FOREIGN', now, KEYS[1] }
end
end_lapsed_holds(record)
if holder(record) == '' then
  serve(record)
  if record.changed then
    save(record)
  end
  return { 'FREE', now }
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
record.owner, record.granted, record.readers, record.since = '', false, '', now
serve(record)
save(record)
return { 'REVOKED', now }
