-- The fast paths of release.lua, put in front of it, for one lock: one attempt holds it alone, and no other waits, or the first who
-- waits can have it; or a reader leaves, and no attempt waits. They do what the whole script would do, and only that part of it;
-- where anything is unusual they do nothing, and the rest decides.
--
-- KEYS, ARGV and replies: those of release.lua

if #KEYS == 1 and ARGV[3] == '0' then
  local key, me, settings = KEYS[1], ARGV[1], ARGV[4]
  local raw = redis.pcall('HGET', key, 'lock')
  local known = type(raw) == 'string' and sub(raw, 1, 2) == '2 '
  local state, lease, last, rest, readers = known and sub(raw, 4, 4), nil, nil, '', nil
  if (state == 'H' or state == 'G') and sub(raw, 68, 87) == me then
    if #raw == 118 then
      lease, last = sub(raw, 106), last_token(raw, ARGV[2])
    elseif grant_next(key, me, raw, ARGV[2], settings) then
      return { clock }
    end
  elseif state == '-' and sub(raw, 67) == READING then
    local all, now = redis.call('HGET', key, 'readers'), sub(clock, 1, 13)
    local place = #all <= MOST * 34 and string.find(all, me, 1, true)
    local all_live = place and sub(all, place + 33, place + 33) ~= 'K'
    for other = 21, all_live and #all or 0, 34 do
      all_live = all_live and sub(all, other, other + 12) > now
    end
    if all_live then
      readers, last = sub(all, 1, place - 1) .. sub(all, place + 34), sub(raw, 24, 39)
      lease = string.format('%013.0f', sub(all, place + 20, place + 32) - now)
      rest = readers == '' and '' or READING
    end
  end
  if lease then
    local lock = '2 ' .. sub(raw, 3, 3) .. '-- ' .. clock .. ' ' .. last .. ' 00001 ' .. me .. rest
    local written
    -- To let a key live a little longer costs less than to give it another end. But a full server takes a write only behind one
    -- that it never refuses.
    if lease <= sub(settings, 1, 13) then
      written = readers and redis.pcall('HSET', key, 'lock', lock, 'readers', readers) or redis.pcall('HSET', key, 'lock', lock)
    end
    if type(written) ~= 'number' then
      redis.call('PEXPIRE', key, rest == '' and sub(settings, 15, 27) + 0 or redis.call('PTTL', key))
      redis.call('HSET', key, unpack(readers and { 'lock', lock, 'readers', readers } or { 'lock', lock }))
    end
    return { clock }
  end
end
