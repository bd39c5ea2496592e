-- Takes one lock or several for an attempt, or a place in a queue; repeated by waiting attempts as a sign of life.
-- Idempotent for each attempt: a holder has its lease refreshed, a waiter keeps its place.
--
-- Several locks are taken in the order of KEYS. An attempt that waits holds those before the one for which it waits, and
-- none behind it; one that does not wait takes all of them or none.
--
-- KEYS[i]  the lock records
-- ARGV[1]  what is asked for:
--              1  the last server time at which this may run, us, 16 digits
--             17  the earliest server time at which it was sent, us, 16 digits
--             33  mode: X exclusive, F fair, R read, W write
--             34  1: waits in the queue; 0: does not
--             35  attempt, 20 characters, and a blank
--             56  fencing tokens to reserve, 5 digits, and a blank
--             62  lease, ms, 13 digits
-- ARGV[2]  the run id that the server must have; none: any
--
-- Replies, each with the server time in us:
--   ACQUIRED now lease_ms first_token...  the attempt holds the locks, for so long; the tokens are in the order of KEYS
--   now                                   short for ACQUIRED now lease_ms now, with the lease that was asked for
--   QUEUED now holder remaining_ms        it waits; if for itself, then it asks again at once: there are more waiters, dead ones
--                                         or those to be served, than one script goes through for all its locks, before it or
--                                         before others who wait for a lock behind the one that it cannot have
--   BUSY now holder remaining_ms          it does not wait, and another attempt holds a lock
--   AGAIN now                             it does not wait, and there are so many: the next try goes on
--   LATE now                              the command came too late and took nothing
--   ENDED now                             the attempt has released a lock before: a copy of an old command; did nothing
--   YOUNG now run_id uptime_s             the server has another run id; did nothing
--   FOREIGN now key                       the key holds something that is not a lock record of this version

local lease_ms, tokens, sent = tonumber(lease), tonumber(sub(claim, 56, 60)), tonumber(sent)
local not_after, waits = math.floor(sub(claim, 1, 16) / 1000), sub(claim, 34, 34) == '1'
local asked_ms = lease_ms

-- No holder can do anything in less: where the command timeout is shorter, a late copy may have one so long.
local SHORTEST_MS = 250

if now > not_after then
  return 'LATE ' .. clock
end
if ARGV[2] then
  local info = redis.call('INFO', 'server')
  local run = string.match(info, 'run_id:(%w+)')
  if run ~= ARGV[2] then
    return 'YOUNG ' .. clock .. ' ' .. run .. ' ' .. string.match(info, 'uptime_in_seconds:(%d+)')
  end
end

local records = {}
for i, key in ipairs(KEYS) do
  local record = read_record(key)
  if not record then
    return 'FOREIGN ' .. clock .. ' ' .. key
  end
  if has_ended(record, me) then
    return 'ENDED ' .. clock
  end
  records[i] = record
end

local doubtful = false
for _, record in ipairs(records) do
  end_lapsed_holds(record)
  if record.owner == '' then
    first_live(record)
  end
  doubtful = doubtful or (record.since >= sent and record.since <= micros)
end
local left_ms = lease_ms
local timeout_ms = not_after - math.floor(sent / 1000)
if doubtful then
  -- This may be a late copy: wherever one has run before it, a hold has begun or ended since, or a waiter has left. What it
  -- takes lasts until the sender has given up.
  left_ms = math.min(lease_ms, not_after - now)
  lease_ms = timeout_ms < SHORTEST_MS and math.min(lease_ms, SHORTEST_MS) or left_ms
end
-- The sender must have the answer, and the answer to a renewal, before that.
local too_short = 4 * left_ms < 3 * math.min(asked_ms, timeout_ms)

-- Finds the first lock that the attempt cannot have, and whether it takes any before that.
local blocked, takes
for i, record in ipairs(records) do
  local head = serve(record, me)
  if not is_holder(record, me) then
    if record.unsettled or (head and head.attempt ~= me) or not is_free_for(record, mode) then
      blocked = i
      break
    end
    takes = true
  end
end

local function save_changed()
  for _, record in ipairs(records) do
    if record.changed then
      save(record)
    end
  end
end

-- Where it would take a lock, if only to hold it while it waits for the next one, that must last for a while. One that holds
-- all of them already is told so: a first copy of the command took them, and its answer was lost.
if too_short and takes and (not blocked or waits) then
  save_changed()
  return 'LATE ' .. clock
end
if not blocked then
  local first_tokens, held_ms = '', takes and lease_ms or asked_ms
  for _, record in ipairs(records) do
    if not is_holder(record, me) then
      first_tokens = first_tokens .. ' ' .. whole(own(record, me, mode, lease_ms, tokens))
      serve(record)
    else
      -- A repeated command must not shorten a hold that was extended; one that completes a set of locks starts anew.
      local ends = takes and now + lease_ms or math.max(end_of(record, me), now + lease_ms)
      held_ms = math.min(held_ms, ends - now)
      prolong(record, me, ends)
      first_tokens = first_tokens .. ' ' .. whole(first_token(record, me))
    end
    save(record)
  end
  return 'ACQUIRED ' .. clock .. ' ' .. whole(held_ms) .. first_tokens
end

-- How often a hold may pass between the callers of a client that knew of no other waiter: so it is told of the first who waits.
local PASSES_ALONE = 9999

local function wait(record)
  if record.waiting == 0 and record.owner ~= '' and record.state ~= 'G' and record.token - record.first >= PASSES_ALONE then
    tell(record, record.owner, 'awaited ' .. record.owner)
  end
  enqueue(record, me, mode, asked_ms, tokens)
end

-- What may be a late copy holds nothing for long: the sender of a real command is told to ask again before that.
local waiting_ms = doubtful and lease_ms or math.max(lease_ms, ALIVE)

local function hold_while_waiting(record)
  local ends = now + waiting_ms
  if is_holder(record, me) then
    prolong(record, me, math.max(end_of(record, me), ends))
  else
    own(record, me, mode, ends - now, tokens)
    serve(record)
  end
end

local function let_go(record)
  local number = place_of(record, me)
  local previous, revoked = record.previous, record.revoked
  if number then
    leave_queue(record, number, me)
  end
  if is_holder(record, me) then
    end_hold(record, me, 0)
    record.previous, record.revoked = previous, revoked
  end
  serve(record)
end

local busy = records[blocked]
local remaining_ms = hold_end(busy) - now
if doubtful and blocked > 1 then
  remaining_ms = math.min(remaining_ms, math.floor(lease_ms / 2))
end
local reply = (waits and 'QUEUED ' or 'BUSY ') .. clock .. ' ' .. holder(busy) .. ' ' .. whole(remaining_ms)
local goes_on = busy.unsettled and is_free_for(busy, mode)
for i, record in ipairs(records) do
  if i > blocked then
    let_go(record)
    goes_on = goes_on or (record.unsettled and record.owner == '')
  elseif waits and i < blocked then
    hold_while_waiting(record)
  elseif waits then
    wait(record)
  end
end
save_changed()
must_take_writes(KEYS[1])
if goes_on then
  return waits and 'QUEUED ' .. clock .. ' ' .. me .. ' 0' or 'AGAIN ' .. clock
end
return reply
