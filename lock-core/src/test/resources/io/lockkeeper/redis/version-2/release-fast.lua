-- The fast paths of release.lua, put in front of it, for one lock that no attempt waits for: one attempt holds it alone, or a
-- reader leaves. They do what the whole script would do, and only that part of it; where anything is unusual they do nothing, and
-- what follows decides.
--
-- KEYS, ARGV and replies: those of release.lua

local me, used = sub(ARGV[1], 1, 20), sub(ARGV[1], 21, 36)
local raw = sub(ARGV[1], 37) == AT_ONCE and redis.pcall('HGET', KEYS[1], 'lock')
raw = raw and #raw >= 66 and sub(raw, 1, 2) == '2 ' and raw

if raw and not KEYS[2] then
  local key, last, readers = KEYS[1], sub(raw, 24, 39), nil
  local leaves, outlives = false, false
  if #raw == 118 then
    leaves = sub(raw, 68, 87) == me and sub(raw, 4, 4) ~= 'K'
    outlives = sub(raw, 106) <= LEASE
    last = used == last and last or last_token(raw, used)
  elseif sub(raw, 67) == READING then
    local all, now = redis.call('HGET', key, 'readers'), sub(clock, 1, 13)
    local place = #all <= MOST * 34 and string.find(all, me, 1, true)
    leaves = place and sub(all, place + 33, place + 33) ~= 'K'
    for other = 21, leaves and #all or 0, 34 do
      leaves = leaves and sub(all, other, other + 12) > now
    end
    if leaves then
      readers = sub(all, 1, place - 1) .. sub(all, place + 34)
      outlives = sub(all, place + 20, place + 32) - now <= LEASE + 0
    end
  end
  if leaves then
    local lock, written = '2 ' .. sub(raw, 3, 3) .. '-- ' .. clock .. ' ' .. last .. ' 00001 ' .. me, nil
    if readers and readers ~= '' then
      lock = lock .. READING
    end
    -- To let a key live a little longer costs less than to give it another end. But a full server takes a write only behind one
    -- that it never refuses.
    if outlives then
      written = readers and redis.pcall('HSET', key, 'lock', lock, 'readers', readers) or redis.pcall('HSET', key, 'lock', lock)
    end
    if type(written) ~= 'number' then
      redis.call('PEXPIRE', key, #lock == 66 and TOMBSTONE or redis.call('PTTL', key))
      redis.call('HSET', key, unpack(readers and { 'lock', lock, 'readers', readers } or { 'lock', lock }))
    end
    return clock
  end
end
