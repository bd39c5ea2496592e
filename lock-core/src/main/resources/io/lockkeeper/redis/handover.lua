-- Ends an attempt's hold and asks again for the next attempt of the same client. Either the live waiters come first, and
-- the next attempt holds the lock where there are none; or the next attempt comes first, as a reader, and other leading
-- readers with it. Idempotent for each pair of attempts.
--
-- KEYS[1]  the lock record
-- ARGV[1]  what is asked for, of the next attempt as in acquire.lua; and of the first:
--             75  attempt that holds the lock, 20 characters
--             95  last fencing token that was used, 16 digits; 0: keep what is reserved
--            111  1: the next attempt comes before those who wait; 0: after them
--
-- Replies, each with the server time in us:
--   ACQUIRED now lease_ms first_token  the next attempt holds the lock
--   now                                short for ACQUIRED now lease_ms now
--   QUEUED now holder remaining_ms     the next attempt waits; if for itself, then behind too many that are dead, and it asks
--                                      again at once
--   NOT_HELD now                       the first attempt did not hold the lock any more, or the next one has released it
--                                      before: a copy of an old command; did nothing
--   LATE now                           the command came too late and did nothing
--   FOREIGN now key                    the key holds something that is not a lock record of this version

local next_attempt, last_used, lease_ms, tokens = another, tonumber(used), tonumber(lease), tonumber(tokens)

if now > math.floor(sub(claim, 1, 16) / 1000) then
  return 'LATE ' .. clock
end
local record = read_record(KEYS[1])
if not record then
  return 'FOREIGN ' .. clock .. ' ' .. KEYS[1]
end
if is_holder(record, next_attempt) then
  prolong(record, next_attempt, math.max(end_of(record, next_attempt), now + lease_ms))
  serve(record)
  save(record)
  return 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. whole(first_token(record, next_attempt))
end
if has_ended(record, next_attempt) then
  -- A copy of an old command. What an older copy has given the first attempt again ends by itself.
  return 'NOT_HELD ' .. clock
end
if not is_holder(record, me) and (record.owner ~= me or record.state == 'K') then
  if not place_of(record, next_attempt) then
    must_take_writes(KEYS[1])
    return 'NOT_HELD ' .. clock
  elseif holder(record) == '' then
    return 'QUEUED ' .. clock .. ' ' .. next_attempt .. ' 0'
  end
  return 'QUEUED ' .. clock .. ' ' .. holder(record) .. ' ' .. whole(math.max(0, hold_end(record) - now))
end

if record.owner == me then
  take_back(record, last_used)
end
end_hold(record, me, 0)
end_lapsed_holds(record)
local head
if sub(claim, 111) ~= '1' then
  head = serve(record, next_attempt)
end
if not record.unsettled and (not head or head.attempt == next_attempt) and is_free_for(record, mode) then
  local first = own(record, next_attempt, mode, lease_ms, tokens)
  serve(record)
  save(record)
  return 'ACQUIRED ' .. clock .. ' ' .. lease .. ' ' .. whole(first)
end
enqueue(record, next_attempt, mode, lease_ms, tokens)
save(record)
if record.unsettled and is_free_for(record, mode) then
  return 'QUEUED ' .. clock .. ' ' .. next_attempt .. ' 0'
end
return 'QUEUED ' .. clock .. ' ' .. holder(record) .. ' ' .. whole(hold_end(record) - now)
