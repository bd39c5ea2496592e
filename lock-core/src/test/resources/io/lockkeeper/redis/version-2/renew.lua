-- Gives holds a new end, counted from now. A hold that has lapsed is over, even where no other attempt has taken the lock since.
-- Idempotent. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]  the lock records
-- ARGV[1]  for each of them, one behind the other:
--              1  attempt that holds it, 20 characters
--             21  its lease from now on, ms, 13 digits
--             34  1: exactly that lease; 0: at least that, a later end stays: a renewal may come after an extension
--             35  fencing token that the record must have at least, 16 digits; 0: any
--
-- Reply: the server time in us, and for each lock a 1: renewed, or 0: the attempt does not hold it any more

local records, renewed = {}, {}
for i, key in ipairs(KEYS) do
  local at = 50 * i - 49
  local attempt, lease_ms = sub(renewals, at, at + 19), tonumber(sub(renewals, at + 20, at + 32))
  if replies[i] == '0' and records[key] == nil then
    records[key] = read_record(key) or false
  end
  local record = replies[i] == '0' and records[key]
  if record and is_holder(record, attempt) then
    local ends = now + lease_ms
    if sub(renewals, at + 33, at + 33) == '0' then
      ends = math.max(ends, end_of(record, attempt))
    end
    if not record.changed then
      renewed[#renewed + 1] = record
    end
    prolong(record, attempt, ends)
    local least_token = tonumber(sub(renewals, at + 34, at + 49))
    if least_token > record.token then
      record.token, record.first = least_token, least_token
    end
    replies[i] = '1'
  end
end
-- Each record once: several readers of one lock may be in one batch.
for _, record in ipairs(renewed) do
  save(record)
end
return clock .. ' ' .. table.concat(replies)
