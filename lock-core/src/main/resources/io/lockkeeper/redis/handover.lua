-- Ends an attempt's hold and asks again for the next attempt of the same client: the first live waiter comes first;
-- where there is none, the next attempt holds the lock at once. Idempotent for each pair of attempts.
--
-- KEYS[1]  the lock record
-- ARGV[1]  attempt that holds the lock  ARGV[2]  last fencing token that was used
-- ARGV[3]  next attempt                 ARGV[4]  mode: X exclusive, F fair   ARGV[5]  lease, ms
-- ARGV[6]  how long a place in the queue is kept, ms
-- ARGV[7]  grant time, ms               ARGV[8]  fencing tokens to reserve
-- ARGV[9]  the last server time at which this may run, ms
-- ARGV[10] prefix of the grant channels ARGV[11] life of a tombstone, ms
--
-- Replies, each with the server time in ms:
--   ACQUIRED now first_token       the next attempt holds the lock
--   QUEUED now owner remaining_ms  the next attempt waits
--   NOT_HELD now                   the first attempt did not hold the lock any more; did nothing
--   LATE now                       the command came too late and did nothing
--   FOREIGN now                    the key holds something that is not a lock record of this version

local me, last_token, next_attempt, mode = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local lease_ms, alive_ms, grant_ms, tokens = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local not_after, channel_prefix, tombstone_ms = tonumber(ARGV[9]), ARGV[10], tonumber(ARGV[11])

local micros = server_micros()
local now = math.floor(micros / 1000)
if now > not_after then
  return { 'LATE', now }
end
local record = read_record()
if not record then
  return { 'FOREIGN', now }
end
if record.owner == next_attempt and record.ends > now then
  redis.call('HSET', KEYS[1], 'until', whole(math.max(record.ends, now + lease_ms)), 'granted', '0')
  redis.call('PEXPIRE', KEYS[1], math.max(record.ends - now, lease_ms) + tombstone_ms)
  return { 'ACQUIRED', now, record.token - tokens + 1 }
end
if record.owner ~= me then
  if place_of(record, next_attempt) then
    return { 'QUEUED', now, record.owner, math.max(0, record.ends - now) }
  end
  return { 'NOT_HELD', now }
end

redis.call('PEXPIRE', KEYS[1], lease_ms + tombstone_ms)
record.previous = me
record.token = last_token
local head = first_live(record, now)
if not head then
  return { 'ACQUIRED', now, own(record, next_attempt, mode, lease_ms, tokens, false, micros, tombstone_ms) }
end
enqueue(record, next_attempt, mode, now + alive_ms, grant_ms, tokens)
grant(record, head, micros, channel_prefix, tombstone_ms)
return { 'QUEUED', now, record.owner, record.ends - now }
