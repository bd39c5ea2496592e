-- The lock record, shared by all scripts: put in front of each of them, behind its fast paths.
--
-- A record is one hash. Two of its fields have parts that always begin at the same place, and at most 64 characters: with longer
-- values Redis makes a table of a small hash, which takes more memory and time. "lock" tells how the lock stands:
--     1  format of the record: 4
--     2  O it has an owner, R it has readers, - neither; o, r and ~ where the previous attempt did not release the lock: it was
--        taken away from it by force
--     3  how the lock is or was held: X exclusive, F fair, R read, W write
--     4  when a hold began or ended last, or a waiter left, server time in us, 16 digits
--    20  first fencing token of the owner, 16 digits; without an owner the last one that was used
--    36  how many tokens the owner has, 9 digits; without an owner until when the key lives at least, the last 9 digits of the
--        seconds, zeros where that is not known: see key-life.lua
--    45  id of the attempt that released the lock last, 20 characters
--    65  the queue, where there is one: number of the first place, number of the next one to be given, waiters, when the last of
--        them ceases to be alive (ms), 1 where there are places of clients that are gone
-- "hold" tells of the owner, and is all that a renewal reads and writes:
--     1  format of the record: 4
--     2  H it holds the lock, G it was made owner by a grant and has not confirmed it, K it has released the lock but keeps it
--        taken for a minimum time, - there is none
--     3  id of the attempt, 20 characters
--    24  its lease, ms, 13 digits; a hold past it has lapsed  38  since when the lease runs, us, 16 digits
--    55  until when the key lives at least, as above
-- Other fields:
--   readers     attempts that hold the lock together, 34 characters each:
--               attempt 20, until 13 (server ms), state 1: G granted and not confirmed, H held, K released but kept
--   a number    the place of that number: mode 1, attempt 20, alive until 13 (server ms), grant time 13 (ms), tokens 5
--   an attempt  the number of the place in which it waits
--   a client    places with lower numbers are of a time at which this client was gone
--   revoked     the last requests to take the lock away by force; see revoke.lua
-- An attempt id is the client id (12 characters) and a number (8). A place that is given up leaves a gap. What a script does
-- takes no longer with many waiters: it looks at the places of those it is about, and passes a limited number of dead ones, in all
-- its records together. It does take longer with many readers, of whom it reads all.

local READER = 34
local CLIENT = 12
local NONE = '--------------------'
local LATEST = 9999999999999
-- So many dead places a script passes: 64 take 0.6 ms, and twice that where other processes use the processor.
local MOST_DEAD = 32
-- Of a queue with more waiters than this, the fields are not deleted one by one, which would take too long: the key is unlinked. So
-- it is with more fields than this, most of which are marks of clients then.
local MOST_DROPPED, MOST_FIELDS = 100, 1000
-- How many dead places this script has passed, and how many grants it has given, of all its records together.
local passed, served = 0, 0

local micros, now = tonumber(clock), tonumber(sub(clock, 1, 13))

local function whole(number)
  return string.format('%.0f', number)
end

-- Returns a time in ms as the 13 digits that it has in a record; a later one counts as the last of them.
local function digits(time)
  return string.format('%013.0f', math.min(time, LATEST))
end

-- Returns the record of a key, or nil where the key holds something else.
local function read_record(key)
  local raw = redis.pcall('HMGET', key, 'lock', 'hold', 'readers')
  if raw.err and not string.find(raw.err, 'WRONGTYPE', 1, true) then
    -- A right is missing: fails again, and says so.
    redis.call('HMGET', key, 'lock', 'hold', 'readers')
  end
  local lock, hold = raw[1], raw[2]
  if raw.err or (lock and (#lock < 64 or sub(lock, 1, 1) ~= '4' or not hold or #hold ~= 63 or sub(hold, 1, 1) ~= '4'))
    or (not lock and redis.call('EXISTS', key) == 1) then
    return nil
  end
  local record = {
    key = key, exists = lock and true or false, mode = 'X', state = '-', revoked = false, since = 0, token = 0, first = 0,
    previous = '', owner = '', started = '0000000000000000', ends = 0, readers = raw[3] or '', had_readers = raw[3],
    head = 1, tail = 1, waiting = 0, latest = 0, marked = false, dropped = 0,
    places = {}, messages = {}, ends_of = '', last_end = 0,
  }
  if lock then
    local state = sub(lock, 2, 2)
    record.revoked, record.mode = state == 'o' or state == 'r' or state == '~', sub(lock, 3, 3)
    record.since, record.first = tonumber(sub(lock, 4, 19)), tonumber(sub(lock, 20, 35))
    record.token = record.first
    record.previous = sub(lock, 45, 64) ~= NONE and sub(lock, 45, 64) or ''
    if state == 'O' or state == 'o' then
      record.state, record.owner, record.started = sub(hold, 2, 2), sub(hold, 3, 22), sub(hold, 38, 53)
      record.token = record.first + tonumber(sub(lock, 36, 44)) - 1
      record.ends = tonumber(sub(hold, 38, 50)) + tonumber(sub(hold, 24, 36))
    end
    local head, tail, waiting, latest, marked = string.match(lock, '^ (%d+) (%d+) (%d+) (%d+) (%d)$', 65)
    if head then
      record.head, record.tail, record.waiting, record.latest = tonumber(head), tonumber(tail), tonumber(waiting), tonumber(latest)
      record.marked = marked == '1'
    end
  end
  return record
end

-- Returns a field that has to do with places, as the record will be; nil: there is none.
local function get(record, field)
  local value = record.places[field]
  if value == nil and record.exists and not record.emptied then
    value = redis.call('HGET', record.key, field)
  end
  return value or nil
end

local function put(record, field, value)
  record.places[field] = value
  record.changed = true
end

-- Returns the number of an attempt's place, and the place; nil: it waits in none.
local function place_of(record, attempt)
  local number = record.waiting > 0 and get(record, attempt)
  local gone = number and record.marked and get(record, sub(attempt, 1, CLIENT))
  if not number or (gone and tonumber(number) < tonumber(gone)) then
    return nil
  end
  return number, get(record, number)
end

-- Returns the place of a reader's entry; nil: there is none. It is looked for once, as each search reads the whole text.
local function reader_at(record, attempt)
  if record.sought ~= attempt or record.searched ~= record.readers then
    record.sought, record.searched = attempt, record.readers
    record.found = string.find(record.readers, attempt, 1, true)
  end
  return record.found
end

local function reader_until(record, place)
  return tonumber(sub(record.readers, place + 20, place + 32))
end

local function reader_state(record, place)
  return sub(record.readers, place + 33, place + 33)
end

-- Puts an entry in the place of a reader's, or takes it out.
local function replace_reader(record, place, entry)
  local before = record.readers
  record.readers = sub(before, 1, place - 1) .. entry .. sub(before, place + READER)
  if record.searched == before and entry ~= '' then
    record.searched = record.readers
  end
end

-- Forgets the queue: there is no place in it, or none of anyone who is alive.
local function drop_queue(record)
  if record.marked or record.waiting > 0 then
    record.revocations = record.exists and not record.emptied and redis.call('HGET', record.key, 'revoked') or record.revocations
    record.emptied, record.dropped = true, record.dropped + record.waiting
    record.places = {}
  end
  record.head, record.tail, record.waiting, record.latest, record.marked = 1, 1, 0, 0, false
  record.changed = true
end

local function remove_waiter(record, number, attempt)
  put(record, number, false)
  put(record, attempt, false)
  record.waiting = record.waiting - 1
  if tonumber(number) == record.head then
    record.head = record.head + 1
  end
  if record.waiting == 0 then
    drop_queue(record)
  end
end

-- Takes out a waiter who does not wait any more.
local function leave_queue(record, number, attempt)
  remove_waiter(record, number, attempt)
  record.since = micros
end

-- Goes through the readers and notes when the last of their holds ends. Returns whether all of them hold the lock now.
local function look_at_readers(record)
  local readers, at, last, all_live = record.readers, sub(clock, 1, 13), '0', true
  for place = 21, #readers, READER do
    local ends = sub(readers, place, place + 12)
    if ends > last then
      last = ends
    end
    all_live = all_live and ends > at
  end
  record.ends_of, record.last_end = readers, tonumber(last)
  return all_live
end

-- Returns when the last reader's hold ends; 0: there is none.
local function readers_end(record)
  if record.ends_of ~= record.readers then
    look_at_readers(record)
  end
  return record.last_end
end

-- Returns when the lock is free without any further renewal.
local function hold_end(record)
  return record.owner ~= '' and record.ends or readers_end(record)
end

-- Returns who holds the lock: the owner or the first reader; empty: no attempt.
local function holder(record)
  return record.owner ~= '' and record.owner or sub(record.readers, 1, 20)
end

-- Returns what the record says of the lock, and nothing of the key's life.
local function lock_of(record)
  local owned, queue = record.owner ~= '', ''
  local state = owned and 'O' or record.readers ~= '' and 'R' or '-'
  if record.revoked then
    state = state == '-' and '~' or string.lower(state)
  end
  if record.waiting > 0 then
    queue = ' ' .. whole(record.head) .. ' ' .. whole(record.tail) .. ' ' .. whole(record.waiting) .. ' ' .. whole(record.latest)
      .. (record.marked and ' 1' or ' 0')
  end
  return '4' .. state .. record.mode
    .. string.format('%016.0f%016.0f%09.0f', record.since, owned and record.first or record.token,
      owned and record.token - record.first + 1 or 0)
    .. (record.previous ~= '' and record.previous or NONE) .. queue
end

-- Returns what the record says of the owner, and nothing of the key's life.
local function hold_of(record)
  if record.owner == '' then
    return NO_HOLD
  end
  return '4' .. record.state .. record.owner .. ' ' .. digits(record.ends - tonumber(sub(record.started, 1, 13))) .. ' '
    .. record.started .. ' 000000000'
end

-- Returns the fields of a record whose queue was dropped; nil: there are too many, or its user may not list them. In a slot of a
-- cluster that is moving, a script may not write to a key that is gone, also if the script has unlinked it: the lock would be lost.
local function fields_of(record)
  local fields = record.emptied and record.exists and record.dropped <= MOST_DROPPED and redis.pcall('HKEYS', record.key)
  return fields and not fields.err and #fields <= MOST_FIELDS and fields or nil
end

-- Writes the record back. PEXPIRE comes first where it can: it is never refused for want of memory, and a full server then
-- takes the rest. Messages come last: a server that takes no writes, such as a deposed master, would still publish them, and
-- a grant that was not written would make a holder that no client knows of.
local function save(record)
  local life = math.max(0, hold_end(record) - now) + TOMBSTONE
  local write, delete = { 'HSET', record.key, 'lock', lock_of(record), 'hold', hold_of(record) }, { 'HDEL', record.key }
  local fields = fields_of(record)
  local unlinks = record.emptied and not fields
  if record.exists then
    redis.call('PEXPIRE', record.key, life)
  end
  if unlinks then
    redis.call('UNLINK', record.key)
  end
  if record.readers ~= '' or (record.had_readers and not record.emptied) then
    write[7], write[8] = 'readers', record.readers
  end
  if record.revocations then
    write[#write + 1], write[#write + 2] = 'revoked', record.revocations
  end
  for field, value in pairs(record.places) do
    if value then
      write[#write + 1], write[#write + 2] = field, value
    elseif not record.emptied then
      delete[#delete + 1] = field
    end
  end
  redis.call(unpack(write))
  local written = {}
  for field = 3, fields and #write or 0, 2 do
    written[write[field]] = true
  end
  for _, field in ipairs(fields or {}) do
    if not written[field] then
      delete[#delete + 1] = field
    end
  end
  if #delete > 2 then
    redis.call(unpack(delete))
  end
  if (unlinks or not record.exists) and redis.pcall('PEXPIRE', record.key, life) ~= 1 then
    -- Its user may not, nor perhaps unlink it: a key without an end must not stay.
    for field = 3, #write, 2 do
      redis.call('HDEL', record.key, write[field])
    end
    redis.call('PEXPIRE', record.key, life)
  end
  for _, message in ipairs(record.messages) do
    redis.pcall('PUBLISH', message.channel, message.text)
  end
  record.messages, record.places, record.emptied, record.exists, record.changed = {}, {}, false, true, false
  record.had_readers, record.revocations, record.dropped = record.readers ~= '', nil, 0
end

-- Puts an attempt at the end of the queue, or tells that one in the queue is still alive, which need not be written each time.
local function enqueue(record, attempt, mode, lease_ms, tokens)
  local number, place = place_of(record, attempt)
  if place and (tonumber(sub(place, 22, 34)) - now) * 8 >= ALIVE * 5 then
    return
  end
  if not number then
    local old = record.waiting > 0 and get(record, attempt)
    if old then
      put(record, old, false)
    else
      record.waiting = record.waiting + 1
    end
    number = whole(record.tail)
    record.tail = record.tail + 1
    put(record, attempt, number)
  end
  put(record, number, mode .. attempt .. digits(now + ALIVE) .. digits(math.min(lease_ms, GRANT))
    .. string.format('%05d', tokens))
  record.latest = math.max(record.latest, math.min(now + ALIVE, LATEST))
end

-- A grant was not confirmed in time: that client is gone, with all its waiters.
local function forget_client(record, attempt)
  if record.waiting > 0 then
    record.marked = true
    put(record, sub(attempt, 1, CLIENT), whole(record.tail))
  end
end

local function disown(record)
  record.owner, record.state, record.ends = '', '-', 0
end

-- Takes away the holds that have lapsed.
local function end_lapsed_holds(record)
  if record.owner ~= '' and record.ends <= now then
    if record.state == 'G' then
      forget_client(record, record.owner)
    end
    record.since = math.max(record.since, record.ends * 1000)
    disown(record)
    record.changed = true
  end
  if record.readers == '' or look_at_readers(record) then
    return
  end
  local live = {}
  for place = 1, #record.readers, READER do
    local ends = reader_until(record, place)
    if ends > now then
      live[#live + 1] = sub(record.readers, place, place + READER - 1)
    else
      if reader_state(record, place) == 'G' then
        forget_client(record, sub(record.readers, place, place + CLIENT - 1))
      end
      record.since = math.max(record.since, ends * 1000)
      record.changed = true
    end
  end
  record.readers = table.concat(live)
end

-- Those who can have the lock wait only because this script has done enough. A late copy of the command would find less to do,
-- and get more than its sender was told of.
local function leave_unsettled(record)
  record.unsettled, record.since, record.changed = true, micros, true
end

-- Returns the first waiter that is alive, and takes those before it out of the queue, who left when they were last alive; nil:
-- there is none, or too many are dead: then the record is unsettled, no attempt overtakes them, and a further call goes on.
local function first_live(record)
  if record.waiting > 0 and record.latest < now then
    record.since = math.max(record.since, record.latest * 1000 + 999)
    drop_queue(record)
  end
  while record.waiting > 0 do
    local number = whole(record.head)
    local place = get(record, number)
    local attempt = place and sub(place, 2, 21)
    local gone = place and record.marked and get(record, sub(attempt, 1, CLIENT))
    local alive_until = place and tonumber(sub(place, 22, 34))
    if place and alive_until >= now and not (gone and record.head < tonumber(gone)) then
      return {
        number = number, attempt = attempt, mode = sub(place, 1, 1),
        grant_ms = tonumber(sub(place, 35, 47)), tokens = tonumber(sub(place, 48, 52)),
      }
    end
    if passed == MOST_DEAD then
      leave_unsettled(record)
      return nil
    end
    passed = passed + 1
    record.head = record.head + 1
    record.changed = true
    if place then
      if alive_until < now then
        record.since = math.max(record.since, alive_until * 1000 + 999)
      end
      remove_waiter(record, number, attempt)
    end
  end
  return nil
end

local function is_free_for(record, mode)
  return record.owner == '' and (mode == 'R' or record.readers == '')
end

-- Makes an attempt that is not in the queue a holder, and returns the first of its fencing tokens. Tokens of exclusive holders
-- are above all earlier ones, and not below the clock, so that they rise even where the record was lost; a reader has that of
-- the last writer. Of several readers that are granted the lock, the entries are collected: each one that is put behind the others
-- copies them all.
local function begin_hold(record, attempt, mode, lease_ms, tokens, granted)
  record.mode = mode
  record.since = micros
  record.changed = true
  if mode == 'R' then
    if record.token == 0 then
      record.token = micros
    end
    local entry = attempt .. digits(now + lease_ms) .. (granted and 'G' or 'H')
    if granted then
      granted[#granted + 1] = entry
    else
      local last = record.ends_of == record.readers and math.max(record.last_end, now + lease_ms)
      record.readers = record.readers .. entry
      if last then
        record.ends_of, record.last_end = record.readers, last
      end
    end
    return record.token
  end
  record.first = math.max(record.token + 1, micros)
  record.token = record.first + tokens - 1
  record.owner, record.state = attempt, granted and 'G' or 'H'
  record.started, record.ends = clock, math.min(now + lease_ms, now + LATEST)
  return record.first
end

-- Makes an attempt a holder that asked for it, and returns the first of its fencing tokens.
local function own(record, attempt, mode, lease_ms, tokens)
  local number = record.waiting > 0 and get(record, attempt)
  if number then
    remove_waiter(record, number, attempt)
  end
  local old = mode == 'R' and reader_at(record, attempt)
  if old then
    replace_reader(record, old, '')
  end
  return begin_hold(record, attempt, mode, lease_ms, tokens)
end

-- Tells a client something of one of its attempts when the record is saved, if that may be told.
local function tell(record, attempt, message)
  record.messages[#record.messages + 1] = {
    channel = CHANNELS .. sub(attempt, 1, CLIENT),
    text = message .. ' ' .. record.key,
  }
end

-- Grants the lock to the waiters who can have it now, and returns as serve does. Collects the readers among them.
local function grant(record, stop_at, readers)
  while record.owner == '' do
    local head = first_live(record)
    if not head or head.attempt == stop_at or not is_free_for(record, head.mode) or (head.mode ~= 'R' and #readers > 0) then
      return head
    end
    if served == MOST then
      -- The next one asks again at once, and is served then, a reader with others behind it.
      tell(record, head.attempt, 'free-at ' .. head.attempt .. ' 0')
      record.changed = true
      if record.readers == '' and #readers == 0 then
        leave_unsettled(record)
      end
      return head
    end
    served = served + 1
    remove_waiter(record, head.number, head.attempt)
    local first = begin_hold(record, head.attempt, head.mode, head.grant_ms, head.tokens, readers)
    tell(record, head.attempt, 'grant ' .. head.attempt .. ' ' .. whole(first) .. ' ' .. whole(now + head.grant_ms))
  end
  return nil
end

-- Grants the lock to the waiters who can have it now, those before a given attempt: to one, or to leading readers. Returns the
-- first waiter that is left where the lock has no owner; nil: there is none, or too many are dead.
local function serve(record, stop_at)
  local readers = {}
  local head = grant(record, stop_at, readers)
  if #readers > 0 then
    record.readers = record.readers .. table.concat(readers)
  end
  return head
end

-- Returns whether an attempt holds the lock now. One that has released it, and keeps it taken, does not.
local function is_holder(record, attempt)
  if record.owner == attempt then
    return record.state ~= 'K' and record.ends > now
  end
  local place = reader_at(record, attempt)
  return place ~= nil and reader_state(record, place) ~= 'K' and reader_until(record, place) > now
end

-- Returns whether an attempt has released the lock, or lost it by force, as far as that is remembered.
local function has_ended(record, attempt)
  local place = reader_at(record, attempt)
  return record.previous == attempt or (place ~= nil and reader_state(record, place) == 'K')
end

-- Gives a hold a new end and confirms it.
local function prolong(record, attempt, ends)
  local place = reader_at(record, attempt)
  record.changed = true
  if record.owner == attempt then
    record.started, record.ends, record.state = clock, ends, 'H'
  elseif place then
    replace_reader(record, place, attempt .. digits(ends) .. 'H')
  end
end

-- Fails where the server takes no writes. Such a one is a master that was deposed, and knows nothing of what its follower gave and
-- took back: it must not tell who holds a lock and who does not. An answer for which something was written needs no such test.
local function must_take_writes(key)
  redis.call('HDEL', key, 'none')
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
  record.previous, record.revoked = attempt, false
  record.since = micros
  record.changed = true
  if record.owner == attempt then
    if keep_ms > 0 then
      record.started, record.ends, record.state = clock, now + keep_ms, 'K'
    else
      disown(record)
    end
  elseif place then
    replace_reader(record, place, keep_ms > 0 and attempt .. digits(now + keep_ms) .. 'K' or '')
  end
end
