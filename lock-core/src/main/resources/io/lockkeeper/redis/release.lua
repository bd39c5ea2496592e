-- Ends what an attempt has: its hold, which goes to the first live waiter, or its place in the queue.
-- Idempotent for each attempt. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[1]  the lock record
-- ARGV[1]  attempt                      ARGV[2]  last fencing token that was used; 0: keep what is reserved
-- ARGV[3]  prefix of the grant channels ARGV[4]  life of a tombstone, ms
--
-- Replies, each with the server time in ms:
--   RELEASED now    the attempt held the lock
--   LEFT now        it waited
--   ALREADY now     it had released the lock before
--   NOT_HELD now    nothing is known of it
--   FOREIGN now     the key holds something that is not a lock record of this version

local me, last_token, channel_prefix, tombstone_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local micros = server_micros()
local now = math.floor(micros / 1000)
local record = read_record()
if not record then
  return { 'FOREIGN', now }
end
if record.owner == me then
  redis.call('PEXPIRE', KEYS[1], tombstone_ms)
  record.previous = me
  if last_token > 0 then
    record.token = last_token
  end
  local head = first_live(record, now)
  if head then
    grant(record, head, micros, channel_prefix, tombstone_ms)
  else
    redis.call('HSET', KEYS[1], 'owner', '', 'token', whole(record.token), 'until', '0', 'granted', '0',
      'previous', me, 'queue', '')
  end
  return { 'RELEASED', now }
end
local place = place_of(record, me)
if place then
  redis.call('PEXPIRE', KEYS[1], math.max(1, redis.call('PTTL', KEYS[1])))
  remove_at(record, place)
  redis.call('HSET', KEYS[1], 'queue', record.queue)
  return { 'LEFT', now }
end
if record.previous == me then
  return { 'ALREADY', now }
end
return { 'NOT_HELD', now }
