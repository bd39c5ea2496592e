-- The lock record, shared by all scripts: put in front of each of them, behind its usual cases.
--
-- A record is one hash, so that HGETALL reads like a status page:
--   version   format of the record: 1
--   mode      how the lock is or was held: exclusive, fair, read, write
--   owner     id of the attempt that holds the lock alone; empty: nobody
--   token     highest fencing token given out or reserved
--   first     first fencing token of the last owner
--   until     end of the owner's hold, server time in ms; a hold past it has lapsed
--   since     when a hold began or ended last, or a waiter left, server time in us
--   granted   1 while the owner was made owner by a grant and has not confirmed it; plain where there is nothing but the
--             owner to look at: no reader, no queue, no such grant, no hold that is kept after its release; else 0
--   previous  id of the attempt that released the lock last; also owner: it keeps the lock taken for a minimum time
--   readers   attempts that hold the lock together, 34 characters each:
--             attempt 20, until 13 (server ms), state 1: G granted and not confirmed, H held, K released but kept
--   queue     waiting attempts in order of arrival, 45 characters each:
--             mode 1, attempt 20, alive until 13 (server ms), grant time 6 (ms), tokens 5
--   revoked   reply and id of the last request to take the lock away by force; only there after such a request
-- An attempt id is the client id (12 characters) and a number (8).

local READER = 34
local WAITER = 45
local CLIENT = 12
local MODES = { X = 'exclusive', F = 'fair', R = 'read', W = 'write' }

local time = redis.call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(micros / 1000)

-- Set by the scripts that write.
local channel_prefix, tombstone_ms

local function whole(number)
  return string.format('%.0f', number)
end

-- Returns a time in ms as the 13 digits that it has in a list; a later one counts as the last of them.
local function digits(time)
  return string.format('%013.0f', math.min(time, 9999999999999))
end

-- Returns the record of a key, or nil where the key holds something else.
local function read_record(key)
  local raw = redis.pcall('HMGET', key, 'version', 'mode', 'owner', 'token', 'until', 'since', 'granted', 'previous',
    'readers', 'queue', 'first')
  if raw.err or (raw[1] and raw[1] ~= '1') or (not raw[1] and redis.call('EXISTS', key) == 1) then
    return nil
  end
  return {
    key = key,
    exists = raw[1] == '1',
    mode = raw[2] or '',
    owner = raw[3] or '',
    token = tonumber(raw[4] or 0),
    ends = tonumber(raw[5] or 0),
    since = tonumber(raw[6] or 0),
    granted = raw[7] == '1',
    previous = raw[8] or '',
    readers = raw[9] or '',
    queue = raw[10] or '',
    first = tonumber(raw[11] or 0),
    messages = {},
  }
end

-- Returns the position of an attempt's entry; nil: it has none.
local function place_of(record, attempt)
  local found = string.find(record.queue, attempt, 1, true)
  return found and found - 1
end

local function reader_at(record, attempt)
  return (string.find(record.readers, attempt, 1, true))
end

local function reader_until(record, place)
  return tonumber(string.sub(record.readers, place + 20, place + 32))
end

local function reader_state(record, place)
  return string.sub(record.readers, place + 33, place + 33)
end

-- Puts an entry in the place of another one, or takes one out.
local function replace(list, place, size, entry)
  return string.sub(list, 1, place - 1) .. entry .. string.sub(list, place + size)
end

-- Returns a list without the entries at those places for which a function returns true. Copies the list once, because Redis
-- answers nobody else meanwhile: taking out thousands one by one would keep it busy for seconds.
local function take_out(list, size, is_out)
  local kept, from = {}, 1
  for place = 1, #list, size do
    if is_out(place) then
      kept[#kept + 1] = string.sub(list, from, place - 1)
      from = place + size
    end
  end
  return from == 1 and list or table.concat(kept) .. string.sub(list, from)
end

local function remove_waiter(record, place)
  record.queue = replace(record.queue, place, WAITER, '')
  record.changed = true
end

-- Takes out a waiter who does not wait any more.
local function leave_queue(record, place)
  remove_waiter(record, place)
  record.since = micros
end

-- Returns when the last reader's hold ends; 0: there is none.
local function readers_end(record)
  local last = 0
  for place = 1, #record.readers, READER do
    last = math.max(last, reader_until(record, place))
  end
  return last
end

-- Returns when the lock is free without any further renewal.
local function hold_end(record)
  return record.owner ~= '' and record.ends or readers_end(record)
end

-- Returns who holds the lock: the owner or the first reader; empty: nobody.
local function holder(record)
  return record.owner ~= '' and record.owner or string.sub(record.readers, 1, 20)
end

-- Returns what the usual cases where nobody waits trust in: that they know all when they look at the owner.
local function grant_state(record)
  if record.granted then
    return '1'
  end
  local kept = record.owner ~= '' and record.owner == record.previous
  return (kept or record.readers ~= '' or record.queue ~= '') and '0' or 'plain'
end

-- Writes the record back. PEXPIRE comes first where it can: it is never refused for want of memory, and a full server then
-- takes the rest. Messages come last: a server that takes no writes, such as a deposed master, would still publish them, and
-- a grant that was not written would make a holder of whom nobody knows.
local function save(record)
  local life = math.max(0, hold_end(record) - now) + tombstone_ms
  if record.exists then
    redis.call('PEXPIRE', record.key, life)
  end
  redis.call('HSET', record.key, 'version', '1', 'mode', record.mode,
    'owner', record.owner, 'token', whole(record.token), 'first', whole(record.first),
    'until', whole(record.owner ~= '' and record.ends or 0), 'since', whole(record.since),
    'granted', grant_state(record), 'previous', record.previous,
    'readers', record.readers, 'queue', record.queue)
  if not record.exists then
    redis.call('PEXPIRE', record.key, life)
  end
  for _, message in ipairs(record.messages) do
    redis.pcall('PUBLISH', message.channel, message.text)
  end
  record.messages = {}
end

-- Puts an attempt at the end of the queue, or tells that one in the queue is still alive.
local function enqueue(record, attempt, mode, alive_until, grant_ms, tokens)
  local entry = mode .. attempt .. digits(alive_until) .. string.format('%06d%05d', math.min(grant_ms, 999999), tokens)
  record.queue = replace(record.queue, place_of(record, attempt) or #record.queue + 1, WAITER, entry)
end

-- Takes away the holds that have lapsed. Where nobody confirmed a grant in time, that client is gone, with all its waiters.
local function end_lapsed_holds(record)
  local gone = {}
  if record.owner ~= '' and record.ends <= now then
    if record.granted then
      gone[string.sub(record.owner, 1, CLIENT)] = true
    end
    record.owner = ''
    record.granted = false
    record.since = math.max(record.since, record.ends * 1000)
    record.changed = true
  end
  record.readers = take_out(record.readers, READER, function(place)
    local ends = reader_until(record, place)
    if ends > now then
      return false
    end
    if reader_state(record, place) == 'G' then
      gone[string.sub(record.readers, place, place + CLIENT - 1)] = true
    end
    record.since = math.max(record.since, ends * 1000)
    record.changed = true
    return true
  end)
  if next(gone) then
    record.queue = take_out(record.queue, WAITER, function(place)
      return gone[string.sub(record.queue, place + 1, place + CLIENT)]
    end)
  end
end

-- Returns the first waiter that is alive, from a place on; nil: there is none. Those before it left when they were last alive.
local function live_from(record, start)
  for place = start, #record.queue, WAITER do
    local alive_until = tonumber(string.sub(record.queue, place + 21, place + 33))
    if alive_until >= now then
      return {
        place = place,
        mode = string.sub(record.queue, place, place),
        attempt = string.sub(record.queue, place + 1, place + 20),
        grant_ms = tonumber(string.sub(record.queue, place + 34, place + 39)),
        tokens = tonumber(string.sub(record.queue, place + 40, place + 44)),
      }
    end
    record.since = math.max(record.since, alive_until * 1000 + 999)
  end
  return nil
end

-- Takes those before a waiter out of the queue, or all where there is no waiter.
local function cut_queue(record, waiter)
  local rest = waiter and string.sub(record.queue, waiter.place) or ''
  record.changed = record.changed or #rest < #record.queue
  record.queue = rest
  if waiter then
    waiter.place = 1
  end
end

-- Returns the first waiter that is alive, after those before it were taken out; nil: there is none.
local function first_live(record)
  local head = live_from(record, 1)
  cut_queue(record, head)
  return head
end

local function is_free_for(record, mode)
  return record.owner == '' and (mode == 'R' or record.readers == '')
end

-- Begins the hold of an attempt that neither waits nor holds, and returns the first of its fencing tokens, and its entry among
-- the readers; empty: it holds alone. Tokens of exclusive holders are above all earlier ones, and not below the clock, so
-- that they rise even where the record was lost; a reader has that of the last writer.
local function begin_hold(record, attempt, mode, lease_ms, tokens, granted)
  record.mode = MODES[mode]
  record.since = micros
  record.changed = true
  if mode == 'R' then
    if record.token == 0 then
      record.token = micros
    end
    return record.token, attempt .. digits(now + lease_ms) .. (granted and 'G' or 'H')
  end
  local first = math.max(record.token + 1, micros)
  record.token = first + tokens - 1
  record.first = first
  record.owner = attempt
  record.ends = now + lease_ms
  record.granted = granted
  return first, ''
end

-- Makes an attempt a holder that asked for it, and returns the first of its fencing tokens.
local function own(record, attempt, mode, lease_ms, tokens)
  local place = place_of(record, attempt)
  if place then
    remove_waiter(record, place)
  end
  local old = mode == 'R' and reader_at(record, attempt)
  if old then
    record.readers = replace(record.readers, old, READER, '')
  end
  local first, reader = begin_hold(record, attempt, mode, lease_ms, tokens, false)
  record.readers = record.readers .. reader
  return first
end

-- Tells a client something of one of its attempts when the record is saved, if that may be told.
local function tell(record, attempt, message)
  record.messages[#record.messages + 1] = {
    channel = channel_prefix .. string.sub(attempt, 1, CLIENT),
    text = message .. ' ' .. record.key,
  }
end

-- Grants the lock to the waiters who can have it now, those before a given attempt: to one, or to all leading readers.
-- Returns the first waiter that is left; nil: there is none.
local function serve(record, stop_at)
  local head, joined = live_from(record, 1), {}
  while head and head.attempt ~= stop_at and is_free_for(record, head.mode) and (head.mode == 'R' or #joined == 0) do
    -- A waiter is not among the readers: who waits holds nothing, and who holds does not wait.
    local first, reader = begin_hold(record, head.attempt, head.mode, head.grant_ms, head.tokens, true)
    joined[#joined + 1] = reader
    tell(record, head.attempt, 'grant ' .. head.attempt .. ' ' .. whole(first) .. ' ' .. whole(now + head.grant_ms))
    head = live_from(record, head.place + WAITER)
  end
  record.readers = record.readers .. table.concat(joined)
  cut_queue(record, head)
  return head
end

-- Returns whether an attempt holds the lock now. One that has released it, and keeps it taken, does not.
local function is_holder(record, attempt)
  if record.owner == attempt then
    return record.previous ~= attempt and record.ends > now
  end
  local place = reader_at(record, attempt)
  return place ~= nil and reader_state(record, place) ~= 'K' and reader_until(record, place) > now
end

-- Returns whether an attempt has released the lock, as far as that is remembered.
local function has_ended(record, attempt)
  local place = reader_at(record, attempt)
  return record.previous == attempt or (place ~= nil and reader_state(record, place) == 'K')
end

-- Gives a hold a new end and confirms it.
local function prolong(record, attempt, ends)
  local place = reader_at(record, attempt)
  if record.owner == attempt then
    record.ends = ends
    record.granted = false
  elseif place then
    record.readers = replace(record.readers, place, READER, attempt .. digits(ends) .. 'H')
  end
end

-- Returns the end of an attempt's hold.
local function end_of(record, attempt)
  return record.owner == attempt and record.ends or reader_until(record, reader_at(record, attempt))
end

-- Returns the first of the fencing tokens that a holder has.
local function first_token(record, attempt)
  return record.owner == attempt and record.first or record.token
end

-- Takes back those of the owner's fencing tokens that it did not use. A command from an earlier hold of the same attempt
-- names a token that is none of these, and takes back nothing.
local function take_back(record, last_token)
  if last_token >= record.first - 1 and last_token < record.token then
    record.token = last_token
  end
end

-- Ends an attempt's hold, at once or when a minimum time is over.
local function end_hold(record, attempt, keep_ms)
  local place = reader_at(record, attempt)
  record.previous = attempt
  record.since = micros
  if record.owner == attempt then
    record.granted = false
    if keep_ms > 0 then
      record.ends = now + keep_ms
    else
      record.owner = ''
    end
  elseif place and keep_ms > 0 then
    record.readers = replace(record.readers, place, READER, attempt .. digits(now + keep_ms) .. 'K')
  elseif place then
    record.readers = replace(record.readers, place, READER, '')
  end
end
