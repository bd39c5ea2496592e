-- Ends an attempt's hold and asks again for the next attempt of the same client. Either the live waiters come first, and
-- the next attempt holds the lock where there are none; or the next attempt comes first, as a reader, and other leading
-- readers with it. Idempotent for each pair of attempts.
--
-- KEYS[1]  the lock record
-- ARGV[1]  attempt that holds the lock  ARGV[2]  last fencing token that was used
-- ARGV[3]  next attempt                 ARGV[4]  mode: X exclusive, F fair, R read, W write
-- ARGV[5]  lease, ms, 13 digits         ARGV[6]  fencing tokens to reserve, 5 digits
-- ARGV[7]  the last server time at which this may run, us, 16 digits
-- ARGV[8]  1: the next attempt comes before those who wait; 0: after them
-- ARGV[9]  life of the key of a lock that is held for the lease, ms
-- ARGV[10] settings: see record.lua
--
-- Replies, each with the server time in us:
--   ACQUIRED now lease_ms first_token  the next attempt holds the lock
--   QUEUED now holder remaining_ms     the next attempt waits; if for itself, then behind too many that are dead, and it asks
--                                      again at once
--   NOT_HELD now                       the first attempt did not hold the lock any more, or the next one has released it
--                                      before: a copy of an old command; did nothing
--   LATE now                           the command came too late and did nothing
--   FOREIGN now key                    the key holds something that is not a lock record of this version

local me, last_used, next_attempt, mode = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local lease_ms, tokens, ahead = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[8] == '1'

if now > math.floor(ARGV[7] / 1000) then
  return { 'LATE', clock }
end
local record = read_record(KEYS[1])
if not record then
  return { 'FOREIGN', clock, KEYS[1] }
end
if is_holder(record, next_attempt) then
  prolong(record, next_attempt, math.max(end_of(record, next_attempt), now + lease_ms))
  serve(record)
  save(record)
  return { 'ACQUIRED', clock, lease_ms, whole(first_token(record, next_attempt)) }
end
if has_ended(record, next_attempt) then
  -- A copy of an old command. What an older copy has given the first attempt again ends by itself.
  return { 'NOT_HELD', clock }
end
if not is_holder(record, me) and (record.owner ~= me or record.state == 'K') then
  if not place_of(record, next_attempt) then
    return { 'NOT_HELD', clock }
  elseif holder(record) == '' then
    return { 'QUEUED', clock, next_attempt, 0 }
  end
  return { 'QUEUED', clock, holder(record), math.max(0, hold_end(record) - now) }
end

if record.owner == me then
  take_back(record, last_used)
end
end_hold(record, me, 0)
end_lapsed_holds(record)
local head
if not ahead then
  head = serve(record, next_attempt)
end
if not record.unsettled and (not head or head.attempt == next_attempt) and is_free_for(record, mode) then
  local first = own(record, next_attempt, mode, lease_ms, tokens)
  serve(record)
  save(record)
  return { 'ACQUIRED', clock, lease_ms, whole(first) }
end
enqueue(record, next_attempt, mode, lease_ms, tokens)
save(record)
if holder(record) == '' then
  return { 'QUEUED', clock, next_attempt, 0 }
end
return { 'QUEUED', clock, holder(record), hold_end(record) - now }
