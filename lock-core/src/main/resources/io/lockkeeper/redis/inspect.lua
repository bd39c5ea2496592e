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
-- So many places are read, and marks of clients that may be gone, of which each takes about 1 us.
local PAGE, MOST_READ = 150, 600

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

-- Returns the clients of those places that are alive, and how many marks were read of clients that may be gone. A grant that has
-- lapsed just now makes one that is not written.
local function clients_of(page)
  local of, unknown = {}, {}
  for at, place in ipairs(page) do
    local client = place and sub(place, 22, 34) >= alive and sub(place, 2, CLIENT + 1)
    of[at] = client
    if client and not gone[client] then
      gone[client] = 0
      unknown[#unknown + 1] = client
    end
  end
  if not record.marked or #unknown == 0 then
    return of, 0
  end
  for i, mark in ipairs(redis.call('HMGET', KEYS[1], unpack(unknown))) do
    mark = record.places[unknown[i]] or mark
    gone[unknown[i]] = mark and tonumber(mark) or 0
  end
  return of, #unknown
end

-- Lists those who are alive and whose clients are not gone, and returns how many marks were read for that.
local function list(page, first)
  local of, marks = clients_of(page)
  for at, client in ipairs(of) do
    if client and #waiting < FIRST and first + at > gone[client] then
      waiting[#waiting + 1] = sub(page[at], 2, 21)
    end
  end
  return marks
end

if record.waiting > 0 and record.latest >= now then
  local number, left = record.head, MOST_READ
  while number < record.tail and left > 0 and #waiting < FIRST do
    local numbers = {}
    for one = number, math.min(record.tail, number + math.min(PAGE, left)) - 1 do
      numbers[#numbers + 1] = one
    end
    left = left - #numbers - list(redis.call('HMGET', KEYS[1], unpack(numbers)), number)
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
