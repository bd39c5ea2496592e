-- The lock record, shared by all scripts: put in front of each of them.
--
-- A record is one hash, so that HGETALL reads like a status page:
--   version   format of the record: 1
--   mode      how the lock is held: exclusive, fair
--   owner     id of the attempt that holds the lock; empty: nobody
--   token     highest fencing token given out or reserved
--   until     end of the hold, server time in ms; a hold past it has lapsed
--   since     begin of the hold, server time in ms; kept after its end
--   granted   1 while the owner was made owner by a grant and has not confirmed it
--   previous  id of the attempt that released the lock last
--   queue     waiting attempts in order of arrival, 45 characters each:
--             mode 1, attempt 20, alive until 13 (server ms), grant time 6 (ms), tokens 5
-- An attempt id is the client id (12 characters) and a number (8).

local ENTRY = 45
local CLIENT = 12
local MODES = { X = 'exclusive', F = 'fair' }

local function server_micros()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function whole(number)
  return string.format('%.0f', number)
end

-- Returns the record, or nil where the key holds something else.
local function read_record()
  local raw = redis.pcall('HMGET', KEYS[1], 'version', 'owner', 'token', 'until', 'since', 'granted', 'previous', 'queue')
  if raw.err or (raw[1] and raw[1] ~= '1') or (not raw[1] and redis.call('EXISTS', KEYS[1]) == 1) then
    return nil
  end
  return {
    owner = raw[2] or '',
    token = tonumber(raw[3] or 0),
    ends = tonumber(raw[4] or 0),
    since = tonumber(raw[5] or 0),
    granted = raw[6] == '1',
    previous = raw[7] or '',
    queue = raw[8] or '',
  }
end

-- Returns where an attempt stands in the queue, as the position of its entry; nil: it does not.
local function place_of(record, attempt)
  local found = string.find(record.queue, attempt, 1, true)
  return found and found - 1
end

local function remove_at(record, place)
  record.queue = string.sub(record.queue, 1, place - 1) .. string.sub(record.queue, place + ENTRY)
end

-- Puts an attempt at the end of the queue, or tells that one in the queue is still alive.
local function enqueue(record, attempt, mode, alive_until, grant_ms, tokens)
  local entry = mode .. attempt .. string.format('%013.0f%06d%05d', alive_until, grant_ms, tokens)
  local place = place_of(record, attempt)
  if place then
    record.queue = string.sub(record.queue, 1, place - 1) .. entry .. string.sub(record.queue, place + ENTRY)
  else
    record.queue = record.queue .. entry
  end
end

-- Takes the holder away if its hold has lapsed. Nobody confirmed a lapsed grant: that client is gone, with all its waiters.
local function end_lapsed_hold(record, now)
  if record.owner == '' or record.ends > now then
    return
  end
  if record.granted then
    local client = string.sub(record.owner, 1, CLIENT)
    for place = #record.queue - ENTRY + 1, 1, -ENTRY do
      if string.sub(record.queue, place + 1, place + CLIENT) == client then
        remove_at(record, place)
      end
    end
  end
  record.owner = ''
end

-- Returns the first waiter that is alive, after those before it were taken out; nil: there is none.
local function first_live(record, now)
  while record.queue ~= '' do
    if tonumber(string.sub(record.queue, 22, 34)) >= now then
      return {
        mode = string.sub(record.queue, 1, 1),
        attempt = string.sub(record.queue, 2, 21),
        grant_ms = tonumber(string.sub(record.queue, 35, 40)),
        tokens = tonumber(string.sub(record.queue, 41, 45)),
      }
    end
    remove_at(record, 1)
  end
  return nil
end

-- Makes an attempt the owner, and returns the first of its fencing tokens:
-- above all earlier ones, and not below the clock, so that they rise even where the record was lost.
local function own(record, attempt, mode, lease_ms, tokens, granted, micros, tombstone_ms)
  local now = math.floor(micros / 1000)
  local first = math.max(record.token + 1, micros)
  record.token = first + tokens - 1
  record.owner = attempt
  record.ends = now + lease_ms
  redis.call('HSET', KEYS[1], 'version', '1', 'mode', MODES[mode], 'owner', attempt, 'token', whole(record.token),
    'until', whole(record.ends), 'since', whole(now), 'granted', granted and '1' or '0', 'previous', record.previous,
    'queue', record.queue)
  redis.call('PEXPIRE', KEYS[1], lease_ms + tombstone_ms)
  return first
end

-- Makes a waiter the owner for its grant time, and tells its client, if that may be told.
local function grant(record, waiter, micros, channel_prefix, tombstone_ms)
  remove_at(record, place_of(record, waiter.attempt))
  local first = own(record, waiter.attempt, waiter.mode, waiter.grant_ms, waiter.tokens, true, micros, tombstone_ms)
  redis.pcall('PUBLISH', channel_prefix .. string.sub(waiter.attempt, 1, CLIENT),
    'grant ' .. waiter.attempt .. ' ' .. whole(first) .. ' ' .. whole(record.ends) .. ' ' .. KEYS[1])
end
