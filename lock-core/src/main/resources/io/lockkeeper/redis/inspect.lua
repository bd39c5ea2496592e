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
local held, waiting, all, gone = { record.owner }, {}, 0, {}
for place = 1, #record.readers, READER do
  held[#held + 1] = sub(record.readers, place, place + 19)
end

-- Lists a waiter whose client is not gone.
local function list(number, place)
  local attempt = sub(place, 2, 21)
  local client = sub(attempt, 1, CLIENT)
  if not gone[client] then
    gone[client] = tonumber(record.marked and get(record, client) or 0)
  end
  if number >= gone[client] then
    waiting[#waiting + 1] = attempt
  end
end

if record.waiting > 0 and record.latest >= now then
  local number, last = record.head, math.min(record.tail, record.head + MOST_READ)
  while number < last and #waiting < FIRST do
    local numbers = {}
    for one = number, math.min(last, number + PAGE) - 1 do
      numbers[#numbers + 1] = one
    end
    for at, place in ipairs(redis.call('HMGET', KEYS[1], unpack(numbers))) do
      if place and #waiting < FIRST and tonumber(sub(place, 22, 34)) >= now then
        list(number + at - 1, place)
      end
    end
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
