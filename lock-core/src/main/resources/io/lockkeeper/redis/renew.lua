-- Gives holds a new end, counted from now. A hold that has lapsed is over, even where no other attempt has taken the lock since.
-- Idempotent. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]  the lock records
-- ARGV[1]  for each of them, one behind the other: the attempt that holds it, 20 characters
-- ARGV[2]  for each of them, one behind the other, or once where it is the same for all:
--              1  its lease from now on, ms, 13 digits
--             14  1: exactly that lease; 0: at least that, a later end stays: a renewal may come after an extension
--             15  fencing token that the record must have at least, 16 digits; 0: any
--
-- Reply: the server time in us, and for each lock a 1: renewed, or 0: the attempt does not hold it any more

-- Of the readers of one lock, as many as there are, several may be in one batch. Each search for an attempt reads them all, and each
-- new entry copies them all: so both are done once for the batch.

local wanted = {}
for i = 1, #KEYS do
  wanted[sub(attempts, 20 * i - 19, 20 * i)] = true
end

-- Returns the places of those readers who are in the batch, by their attempts.
local function places_of(record)
  local places, readers = {}, record.readers
  for place = 1, #readers, READER do
    local attempt = sub(readers, place, place + 19)
    if wanted[attempt] then
      places[attempt] = place
    end
  end
  return places
end

-- Puts the new entries of readers in their places.
local function replace_readers(record)
  local order, parts, from = {}, {}, 1
  for place in pairs(record.entries) do
    order[#order + 1] = place
  end
  table.sort(order)
  for _, place in ipairs(order) do
    parts[#parts + 1], parts[#parts + 2] = sub(record.readers, from, place - 1), record.entries[place]
    from = place + READER
  end
  record.readers = table.concat(parts) .. sub(record.readers, from)
  record.entries = {}
end

local records, renewed = {}, {}
-- Many have the same end.
local last_end, last_digits

-- Returns the record of a key; nil: it is none. From the second time on, it has the places of its readers.
local function record_of(key)
  local record = records[key]
  if record == nil then
    record = read_record(key) or false
    records[key] = record
  elseif record and record.readers ~= '' and not record.places_of_readers then
    record.places_of_readers, record.entries = places_of(record), {}
  end
  return record or nil
end

-- Returns the place of a reader's entry where places are known, and notes it; nil: there is none, or they are not known.
local function known_place(record, attempt)
  local place = record.places_of_readers and record.places_of_readers[attempt]
  if record.places_of_readers then
    if place and record.entries[place] then
      replace_readers(record)
    end
    record.sought, record.searched, record.found = attempt, record.readers, place
  end
  return place
end

for i, key in ipairs(KEYS) do
  local attempt, at = sub(attempts, 20 * i - 19, 20 * i), #all_asked > 30 and 30 * i - 29 or 1
  local lease_ms = tonumber(sub(all_asked, at, at + 12))
  local record = replies[i] == '0' and record_of(key)
  local place = record and known_place(record, attempt)
  if record and is_holder(record, attempt) then
    local ends = now + lease_ms
    if sub(all_asked, at + 13, at + 13) == '0' then
      ends = math.max(ends, end_of(record, attempt))
    else
      record.shortened = true
    end
    record.latest_end = math.max(record.latest_end or 0, ends)
    if not record.changed then
      renewed[#renewed + 1] = record
    end
    if place then
      if ends ~= last_end then
        last_end, last_digits = ends, digits(ends)
      end
      record.entries[place] = attempt .. last_digits .. 'H'
      record.changed = true
    else
      prolong(record, attempt, ends)
    end
    local least_token = tonumber(sub(all_asked, at + 14, at + 29))
    if least_token > record.token then
      record.token, record.first = least_token, least_token
    end
    replies[i] = '1'
  elseif record then
    must_take_writes(key)
  end
end
-- Each record once.
for _, record in ipairs(renewed) do
  if record.entries then
    replace_readers(record)
  end
  if record.readers ~= '' and not record.shortened then
    -- The key lives long enough for the other readers: that need not be looked for among all of them again.
    local until_now = now + redis.call('PTTL', record.key) - TOMBSTONE
    record.ends_of, record.last_end = record.readers, math.max(record.latest_end, until_now)
  end
  save(record)
end
return clock .. ' ' .. table.concat(replies)
