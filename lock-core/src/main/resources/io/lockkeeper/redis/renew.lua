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

local records, renewed = {}, {}
for i, key in ipairs(KEYS) do
  local attempt, at = sub(attempts, 20 * i - 19, 20 * i), #all_asked > 30 and 30 * i - 29 or 1
  local lease_ms = tonumber(sub(all_asked, at, at + 12))
  if replies[i] == '0' and records[key] == nil then
    records[key] = read_record(key) or false
  end
  local record = replies[i] == '0' and records[key]
  if record and is_holder(record, attempt) then
    local ends = now + lease_ms
    if sub(all_asked, at + 13, at + 13) == '0' then
      ends = math.max(ends, end_of(record, attempt))
    end
    if not record.changed then
      renewed[#renewed + 1] = record
    end
    prolong(record, attempt, ends)
    local least_token = tonumber(sub(all_asked, at + 14, at + 29))
    if least_token > record.token then
      record.token, record.first = least_token, least_token
    end
    replies[i] = '1'
  elseif record then
    must_take_writes(key)
  end
end
-- Each record once: several readers of one lock may be in one batch.
for _, record in ipairs(renewed) do
  save(record)
end
return clock .. ' ' .. table.concat(replies)
