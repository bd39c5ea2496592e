-- Looks at a lock. Changes nothing, but fails where the server takes no writes.
--
-- KEYS[1]  the lock record
--
-- Replies, each with the server time in us:
--   LOCK now mode token remaining_ms holders waiters all  who holds the lock and who waits, as attempts one behind the other,
--                                                         20 characters each: all holders, since each of them may ask whether
--                                                         it still is one, and the first hundred waiters in the order in which
--                                                         they will be served. All: how many wait, those included who have not
--                                                         been found dead yet
--   FREE now                                              it has no holder and no waiter
--   FOREIGN now key                                       the key holds something that is not a lock record of this version

local FIRST = 100

local record = read_record(KEYS[1])
if not record then
  return 'FOREIGN ' .. clock .. ' ' .. KEYS[1]
end
must_take_writes(KEYS[1])
end_lapsed_holds(record)
local held, waiting = { record.owner }, {}
for place = 1, #record.readers, READER do
  held[#held + 1] = sub(record.readers, place, place + 19)
end
if record.waiting > 0 and record.latest >= now then
  local numbers = {}
  for number = record.head, math.min(record.tail, record.head + 2 * FIRST) - 1 do
    numbers[#numbers + 1] = whole(number)
  end
  for at, place in ipairs(redis.call('HMGET', KEYS[1], unpack(numbers))) do
    local attempt = place and sub(place, 2, 21)
    local gone = place and record.marked and get(record, sub(attempt, 1, CLIENT))
    if place and #waiting < FIRST and tonumber(sub(place, 22, 34)) >= now and not (gone and tonumber(numbers[at]) < tonumber(gone)) then
      waiting[#waiting + 1] = attempt
    end
  end
end
local all = #waiting < FIRST and record.tail - record.head <= 2 * FIRST and #waiting or record.waiting
local holders = table.concat(held)
if holders == '' and all == 0 then
  return 'FREE ' .. clock
end
return table.concat({
  'LOCK', clock, record.mode, whole(record.token), whole(math.max(0, hold_end(record) - now)), holders, table.concat(waiting), whole(all),
}, ' ')
