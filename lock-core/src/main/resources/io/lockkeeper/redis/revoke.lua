-- Takes a lock away from all who hold it, tells them, and serves those who wait. Idempotent for each request: the record
-- remembers the requests that may still come a second time.
--
-- KEYS[1]  the lock record
-- ARGV[1]  id of the request, without blanks
-- ARGV[2]  the last server time at which this may run, us, 16 digits
--
-- Replies, each with the server time in us:
--   REVOKED now      the lock was held
--   FREE now         it was free
--   LATE now         the command came too late and did nothing
--   FOREIGN now key  the key holds something that is not a lock record of this version
-- MORE behind the time: too many places are of waiters that are dead. The same command goes on.

if clock > ARGV[2] then
  return 'LATE ' .. clock
end
local record = read_record(KEYS[1])
if not record then
  return 'FOREIGN ' .. clock .. ' ' .. KEYS[1]
end
-- Serves those who wait; the result says whether there is more to do.
local function serve_next()
  serve(record)
  return record.unsettled and record.owner == '' and ' MORE' or ''
end
-- Each request: its id, the time after which no copy of it does anything, the reply.
local recent = {}
for id, not_after, reply in string.gmatch(redis.call('HGET', KEYS[1], 'revoked') or '', '(%S+) (%d+) (%u+)\n') do
  if id == ARGV[1] then
    end_lapsed_holds(record)
    local more = serve_next()
    if record.changed then
      save(record)
    end
    return reply .. ' ' .. clock .. more
  end
  if not_after >= clock then
    recent[#recent + 1] = id .. ' ' .. not_after .. ' ' .. reply .. '\n'
  end
end
local function revoke(attempt)
  tell(record, attempt, 'revoke ' .. attempt)
  record.previous, record.revoked = attempt, true
end
end_lapsed_holds(record)
local reply = holder(record) == '' and 'FREE' or 'REVOKED'
if record.owner ~= '' then
  revoke(record.owner)
  disown(record)
end
for place = 1, #record.readers, READER do
  revoke(sub(record.readers, place, place + 19))
end
record.readers = ''
record.since = reply == 'REVOKED' and micros or record.since
record.token = math.max(record.token, record.exists and 0 or micros)
local more = serve_next()
record.revocations = table.concat(recent) .. ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. reply .. '\n'
save(record)
return reply .. ' ' .. clock .. more
