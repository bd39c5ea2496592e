-- Ends what an attempt has: its holds, which go to those who wait, and its place in a queue.
-- Idempotent for each attempt. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]  the lock records
-- ARGV[1]  what ends:
--              1  attempt, 20 characters
--             21  last fencing token of the first lock that was used, 16 digits; 0: keep what is reserved
-- ARGV[2]  how long the locks stay taken, ms; none: they are free at once
--
-- Replies, each with the server time in us; of several locks the one that is lowest here:
--   RELEASED now     the attempt held the lock
--   now              short for RELEASED now
--   LEFT now         it waited
--   ALREADY now      it had released the lock before
--   NOT_HELD now     nothing is known of it, or the lock was taken away from it
--   FOREIGN now key  the key holds something that is not a lock record of this version
-- MORE behind the time: more waiters, dead ones or those to be served, than one script goes through for all its locks. The same
-- command goes on.

local last_used, keep_ms = tonumber(used), tonumber(ARGV[2] or 0)

-- Tells the first waiter when the lock is free, if that is sooner than it may think.
local function tell_end(record, waiter)
  if waiter and hold_end(record) > now then
    tell(record, waiter.attempt, 'free-at ' .. waiter.attempt .. ' ' .. whole(hold_end(record) - now))
  end
end

local function release(record, is_first)
  local number = place_of(record, me)
  if is_holder(record, me) or (record.owner == me and record.state ~= 'K') then
    local before = hold_end(record)
    if record.owner == me and is_first then
      take_back(record, last_used)
    end
    -- A hold that has lapsed is free for those who wait, whatever it was to be kept for.
    end_hold(record, me, is_holder(record, me) and keep_ms or 0)
    end_lapsed_holds(record)
    serve(record)
    if hold_end(record) < before then
      tell_end(record, first_live(record))
    end
    return 1
  elseif number then
    local was_first = tonumber(number) == record.head
    leave_queue(record, number, me)
    end_lapsed_holds(record)
    serve(record)
    if was_first then
      tell_end(record, first_live(record))
    end
    return 2
  end
  end_lapsed_holds(record)
  serve(record)
  return has_ended(record, me) and not (record.revoked and record.previous == me) and 3 or 4
end

local worst, more = 1, ''
for i, key in ipairs(KEYS) do
  local record = read_record(key)
  if not record then
    return 'FOREIGN ' .. clock .. ' ' .. key
  end
  worst = math.max(worst, release(record, i == 1))
  more = record.unsettled and record.owner == '' and ' MORE' or more
  if record.changed then
    save(record)
  end
end
if worst == 4 then
  must_take_writes(KEYS[1])
end
return ({ 'RELEASED ', 'LEFT ', 'ALREADY ', 'NOT_HELD ' })[worst] .. clock .. more
