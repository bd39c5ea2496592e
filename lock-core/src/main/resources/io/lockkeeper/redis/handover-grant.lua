-- A further fast path of handover.lua: the first who waits can have the lock, and the next attempt waits behind all others.

if held then
  local alive = math.min(sub(clock, 1, 13) + ALIVE, 9999999999999) .. ''
  local head, grant_ms = grant_next(KEYS[1], me, raw, used, another, alive,
    mode .. another .. alive .. (lease < GRANT and lease or GRANT) .. tokens)
  if head then
    return 'QUEUED ' .. clock .. ' ' .. head .. ' ' .. grant_ms
  end
end
