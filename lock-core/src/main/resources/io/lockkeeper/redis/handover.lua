-- Ends an attempt's hold and asks again for the next attempt of the same client. Either the live waiters come first, and
-- the next attempt holds the lock where there are none; or the next attempt comes first, as a reader, and other leading
-- readers with it. Idempotent for each pair of attempts.
--
-- KEYS[1]  the lock record
-- ARGV[1]  attempt that holds the lock  ARGV[2]  last fencing token that was used
-- ARGV[3]  next attempt                 ARGV[4]  mode: X exclusive, F fair, R read, W write
-- ARGV[5]  lease, ms
-- ARGV[6]  how long a place in the queue is kept, ms
-- ARGV[7]  grant time, ms               ARGV[8]  fencing tokens to reserve
-- ARGV[9]  the last server time at which this may run, ms
-- ARGV[10] prefix of the grant channels ARGV[11] life of a tombstone, ms
-- ARGV[12] 1: the next attempt comes before those who wait; 0: after them
--
-- Replies, each with the server time in us:
--   ACQUIRED now lease_ms first_token  the next attempt holds the lock
--   QUEUED now holder remaining_ms     the next attempt waits
--   NOT_HELD now                       the first attempt did not hold the lock any more, or the next one has released it
--                                      before: a copy of an old command; did nothing
--   LATE now                           the command came too late and did nothing
--   FOREIGN now key                    the key holds something that is not a lock record of this version

local me, last_token, next_attempt, mode = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local lease_ms, alive_ms, grant_ms, tokens = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local not_after, ahead = tonumber(ARGV[9]), ARGV[12] == '1'
channel_prefix, tombstone_ms = ARGV[10], tonumber(ARGV[11])

if now > not_after then
  return { 'LATE', micros }
end
local record = read_record(KEYS[1])
if not record then
  return { 'FOREIGN', micros, KEYS[1] }
end
if is_holder(record, next_attempt) then
  prolong(record, next_attempt, math.max(end_of(record, next_attempt), now + lease_ms))
  serve(record)
  save(record)
  return { 'ACQUIRED', micros, lease_ms, first_token(record, next_attempt) }
end
if has_ended(record, next_attempt) then
  -- A copy of an old command. What an older copy has given the first attempt again ends by itself.
  return { 'NOT_HELD', micros }
end
if not is_holder(record, me) and (record.owner ~= me or record.previous == me) then
  if place_of(record, next_attempt) then
    return { 'QUEUED', micros, holder(record), math.max(0, hold_end(record) - now) }
  end
  return { 'NOT_HELD', micros }
end

if record.owner == me then
  take_back(record, last_token)
end
end_hold(record, me, 0)
end_lapsed_holds(record)
local head
if not ahead then
  head = serve(record, next_attempt)
end
if (not head or head.attempt == next_attempt) and is_free_for(record, mode) then
  local first = own(record, next_attempt, mode, lease_ms, tokens)
  serve(record)
  save(record)
  return { 'ACQUIRED', micros, lease_ms, first }
end
enqueue(record, next_attempt, mode, now + alive_ms, grant_ms, tokens)
save(record)
return { 'QUEUED', micros, holder(record), hold_end(record) - now }
