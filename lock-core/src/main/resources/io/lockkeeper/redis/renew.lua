-- Gives holds a new end, counted from now. A hold that has lapsed is over, even where no other attempt has taken the lock since.
-- Idempotent. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]      the lock records
-- ARGV[4i-3]   attempt that holds lock i
-- ARGV[4i-2]   its lease from now on, ms, 13 digits
-- ARGV[4i-1]   1: exactly that lease; 0: at least that, a later end stays: a renewal may come after an extension
-- ARGV[4i]     fencing token that the record must have at least; 0: any
-- ARGV[#ARGV]  settings: see record.lua
--
-- Reply: the server time in us, then for each lock 1: renewed, or 0: the attempt does not hold it any more

local records, renewed = {}, {}
for i, key in ipairs(KEYS) do
  local attempt, lease_ms = ARGV[4 * i - 3], tonumber(ARGV[4 * i - 2])
  if replies[i + 1] == 0 and records[key] == nil then
    records[key] = read_record(key) or false
  end
  local record = replies[i + 1] == 0 and records[key]
  if record and is_holder(record, attempt) then
    local ends = now + lease_ms
    if ARGV[4 * i - 1] == '0' then
      ends = math.max(ends, end_of(record, attempt))
    end
    if not record.changed then
      renewed[#renewed + 1] = record
    end
    prolong(record, attempt, ends)
    local least_token = tonumber(ARGV[4 * i])
    if least_token > record.token then
      record.token, record.first = least_token, least_token
    end
    replies[i + 1] = 1
  end
end
-- Each record once: several readers of one lock may be in one batch.
for _, record in ipairs(renewed) do
  save(record)
end
return replies
