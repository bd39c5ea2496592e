-- Looks at a lock. Changes nothing, but fails where the server takes no writes.
--
-- KEYS[1]  the lock record
--
-- Replies, each with the server time in us:
--   LOCK now mode token remaining_ms holders waiters all  who holds the lock and who waits, as attempts one behind the other,
--                                                         20 characters each: all holders, since each of them may ask whether
--                                                         it still is one, and the first hundred waiters in the order in which
--                                                         they will be served, as far as they are found among the first places,
--                                                         some of which may be empty. All: how many wait, those included who
--                                                         have not been found dead yet
--   FREE now                                              it has no holder and no waiter
--   FOREIGN now key                                       the key holds something that is not a lock record of this version

local FIRST = 100
-- So many places are read, of which each takes about 1 us.
local PAGE, MOST_READ = 200, 1200

local record = read_record(KEYS[1])
if not record then
  return 'FOREIGN ' .. clock .. ' ' .. KEYS[1]
end
must_take_writes(KEYS[1])
end_lapsed_holds(record)
local held, waiting, all, gone, alive = { record.owner }, {}, 0, {}, sub(clock, 1, 13)
for place = 1, #record.readers, READER do
  held[#held + 1] = sub(record.readers, place, place + 19)
end

-- Reads the marks of clients that may be gone. A grant that has lapsed just now makes one that is not written.
local function read_marks(places)
  local clients = {}
  for _, place in ipairs(places) do
    local client = sub(place, 2, CLIENT + 1)
    if not gone[client] then
      gone[client] = 0
      clients[#clients + 1] = client
    end
  end
  for i, mark in ipairs(#clients > 0 and redis.call('HMGET', KEYS[1], unpack(clients)) or {}) do
    mark = record.places[clients[i]] or mark
    if mark then
      gone[clients[i]] = tonumber(mark)
    end
  end
end

-- Lists those who are alive and whose clients are not gone.
local function list(page, first)
  local places, numbers = {}, {}
  for at, place in ipairs(page) do
    if place and sub(place, 22, 34) >= alive then
      places[#places + 1], numbers[#numbers + 1] = place, first + at - 1
    end
  end
  if record.marked then
    read_marks(places)
  end
  for i, place in ipairs(places) do
    if #waiting < FIRST and (not record.marked or numbers[i] >= gone[sub(place, 2, CLIENT + 1)]) then
      waiting[#waiting + 1] = sub(place, 2, 21)
    end
  end
end

if record.waiting > 0 and record.latest >= now then
  local number, last = record.head, math.min(record.tail, record.head + MOST_READ)
  while number < last and #waiting < FIRST do
    local numbers = {}
    for one = number, math.min(last, number + PAGE) - 1 do
      numbers[#numbers + 1] = one
    end
    list(redis.call('HMGET', KEYS[1], unpack(numbers)), number)
    number = number + #numbers
  end
  all = number == record.tail and #waiting < FIRST and #waiting or record.waiting
end
local holders = table.concat(held)
if holders == '' and all == 0 then
  return 'FREE ' .. clock
end
return table.concat({
  'LOCK', clock, record.mode, whole(record.token), whole(math.max(0, hold_end(record) - now)), holders, table.concat(waiting), whole(all),
}, ' ')
