-- Looks at a lock. Writes nothing.
--
-- KEYS[1]  the lock record
--
-- Replies, each with the server time in us:
--   LOCK now mode token remaining_ms holders waiters  who holds the lock and who waits, as attempts one behind the other,
--                                                     20 characters each, in the order in which they will be served
--   FREE now                                          nobody holds it or waits for it
--   FOREIGN now key                                   the key holds something that is not a lock record of this version

local record = read_record(KEYS[1])
if not record then
  return { 'FOREIGN', micros, KEYS[1] }
end
end_lapsed_holds(record)
local held, waiting = { record.owner }, {}
for place = 1, #record.readers, READER do
  held[#held + 1] = string.sub(record.readers, place, place + 19)
end
for place = 1, #record.queue, WAITER do
  if tonumber(string.sub(record.queue, place + 21, place + 33)) >= now then
    waiting[#waiting + 1] = string.sub(record.queue, place + 1, place + 20)
  end
end
local holders, waiters = table.concat(held), table.concat(waiting)
if holders == '' and waiters == '' then
  return { 'FREE', micros }
end
return { 'LOCK', micros, record.mode, record.token, math.max(0, hold_end(record) - now), holders, waiters }
