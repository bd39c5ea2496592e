-- Ends what an attempt has: its holds, which go to those who wait, and its place in a queue.
-- Idempotent for each attempt. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]  the lock records
-- ARGV[1]  attempt                      ARGV[2]  last fencing token of the first lock that was used; 0: keep what is reserved
-- ARGV[3]  how long the locks stay taken, ms; 0: they are free at once
-- ARGV[4]  prefix of the grant channels ARGV[5]  life of a tombstone, ms
-- ARGV[6]  1: the usual reply may be one number
--
-- Replies, each with the server time in us; of several locks the one that is lowest here:
--   RELEASED now     the attempt held the lock
--   now              short for RELEASED now
--   LEFT now         it waited
--   ALREADY now      it had released the lock before
--   NOT_HELD now     nothing is known of it
--   FOREIGN now key  the key holds something that is not a lock record of this version

local me, last_token, keep_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
channel_prefix, tombstone_ms = ARGV[4], tonumber(ARGV[5])

-- Tells the first waiter when the lock is free, if that is sooner than it may think.
local function tell_end(record, waiter)
  if waiter and hold_end(record) > now then
    tell(record, waiter.attempt, 'free-at ' .. waiter.attempt .. ' ' .. whole(hold_end(record) - now))
  end
end

local function release(record, is_first)
  local place = place_of(record, me)
  if is_holder(record, me) or (record.owner == me and record.previous ~= me) then
    local before = hold_end(record)
    if record.owner == me and is_first then
      take_back(record, last_token)
    end
    -- A hold that has lapsed is free for those who wait, whatever it was to be kept for.
    end_hold(record, me, is_holder(record, me) and keep_ms or 0)
    end_lapsed_holds(record)
    local head = serve(record)
    if hold_end(record) < before then
      tell_end(record, head)
    end
    save(record)
    return 1
  elseif place then
    leave_queue(record, place)
    end_lapsed_holds(record)
    local head = serve(record)
    if place == 1 then
      tell_end(record, head)
    end
    save(record)
    return 2
  end
  return has_ended(record, me) and 3 or 4
end

local worst = 1
for i, key in ipairs(KEYS) do
  local record = read_record(key)
  if not record then
    return { 'FOREIGN', micros, key }
  end
  worst = math.max(worst, release(record, i == 1))
end
return { ({ 'RELEASED', 'LEFT', 'ALREADY', 'NOT_HELD' })[worst], micros }
