-- Gives holds a new end, counted from now. A hold that has lapsed is over, even where nobody has taken the lock since.
-- Idempotent. Works on a full server: PEXPIRE comes first and is never refused.
--
-- KEYS[i]      the lock records
-- ARGV[1]      life of a tombstone, ms
-- ARGV[4i-2]   attempt that holds lock i
-- ARGV[4i-1]   its lease from now on, ms
-- ARGV[4i]     1: exactly that lease; 0: at least that, a later end stays: a renewal may come after an extension
-- ARGV[4i+1]   fencing token that the record must have at least; 0: any
--
-- Reply: the server time in us, then for each lock 1: renewed, or 0: the attempt does not hold it any more

tombstone_ms = tonumber(ARGV[1])
local reply, records, renewed = usual, {}, {}
for i, key in ipairs(KEYS) do
  local attempt, lease_ms = ARGV[4 * i - 2], tonumber(ARGV[4 * i - 1])
  if reply[i + 1] == 0 and records[key] == nil then
    records[key] = read_record(key) or false
  end
  local record = reply[i + 1] == 0 and records[key]
  if record and is_holder(record, attempt) then
    local ends = now + lease_ms
    if ARGV[4 * i] == '0' then
      ends = math.max(ends, end_of(record, attempt))
    end
    prolong(record, attempt, ends)
    local least_token = tonumber(ARGV[4 * i + 1])
    if least_token > record.token then
      record.token, record.first = least_token, least_token
    end
    if not record.changed then
      renewed[#renewed + 1] = record
      record.changed = true
    end
    reply[i + 1] = 1
  end
end
-- Each record once: several readers of one lock may be in one batch.
for _, record in ipairs(renewed) do
  save(record)
end
return reply
