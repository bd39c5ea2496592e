-- The fast paths of handover.lua, put in front of it: no attempt waits, and the next attempt holds the lock; or the first who waits
-- can have it, and the next attempt waits behind all others. They do what the whole script would do, and only that part of it;
-- where anything is unusual they do nothing, and the rest decides.
--
-- KEYS, ARGV and replies: those of handover.lua

if ARGV[8] == '0' and ARGV[4] ~= 'R' and clock <= ARGV[7] then
  local key, me, another, lease, settings = KEYS[1], ARGV[1], ARGV[3], ARGV[5], ARGV[10]
  local raw = redis.pcall('HGET', key, 'lock')
  local known = type(raw) == 'string' and sub(raw, 1, 2) == '2 ' and sub(raw, 47, 66) ~= another
  local state = known and sub(raw, 4, 4)
  if (state == 'H' or state == 'G') and sub(raw, 68, 87) == me and #raw == 118 then
    local first = last_token(raw, ARGV[2])
    first = first < clock and clock or string.format('%.0f', first + 1)
    redis.call('PEXPIRE', key, ARGV[9])
    redis.call('HSET', key, 'lock', '2 ' .. ARGV[4] .. 'H- ' .. clock .. ' ' .. first .. ' ' .. ARGV[6] .. ' ' .. me .. ' '
      .. another .. ' ' .. clock .. ' ' .. lease)
    return { 'ACQUIRED', clock, tonumber(lease), first }
  elseif (state == 'H' or state == 'G') and sub(raw, 68, 87) == me then
    local alive, grant = math.min(sub(clock, 1, 13) + sub(settings, 29, 41), 9999999999999) .. '', sub(settings, 43, 55)
    local head, grant_ms = grant_next(key, me, raw, ARGV[2], settings, another, alive,
      ARGV[4] .. another .. alive .. (lease < grant and lease or grant) .. ARGV[6])
    if head then
      return { 'QUEUED', clock, head, grant_ms }
    end
  end
end
