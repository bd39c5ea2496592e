-- The fast path of renew.lua, put in front of it: locks that one attempt holds alone, and whose end only moves on. It does what
-- the whole script would do for them; the rest renews those that it left out.
--
-- KEYS and ARGV: those of renew.lua

local renewals, replies, left_out, exact = ARGV[1], {}, false, false
do
  -- How a record begins whose owner may be one who holds it, and how it begins when that is sure.
  local held = {
    ['2 XH'] = '2 XH', ['2 XG'] = '2 XH', ['2 FH'] = '2 FH', ['2 FG'] = '2 FH', ['2 WH'] = '2 WH', ['2 WG'] = '2 WH',
  }
  local usual, lease, lapsed, life, renewed
  for i, key in ipairs(KEYS) do
    local at = 50 * i - 49
    local asked = sub(renewals, at + 20, at + 49)
    if asked ~= usual then
      usual, lease = asked, sub(asked, 1, 13)
      lapsed = string.format('%013.0f999', sub(clock, 1, 13) - lease)
      life = lease == LEASE and LIFE or string.format('%.0f', lease + TOMBSTONE)
      renewed = clock .. ' ' .. lease
      -- An exact end may be an earlier one, and what comes behind it in the same command must not be overtaken by it.
      exact = exact or sub(asked, 14, 14) ~= '0'
    end
    local raw = redis.pcall('HGET', key, 'lock')
    local begin = raw and #raw >= 118 and held[sub(raw, 1, 4)]
    local started = begin and not exact and sub(asked, 15) == NO_TOKEN and sub(raw, 68, 87) == sub(renewals, at, at + 19)
      and sub(raw, 89, 104)
    local old = started and started <= clock and sub(raw, 106, 118)
    if old and ((old == lease and started > lapsed) or (old < lease and sub(started, 1, 13) + old > sub(clock, 1, 13) + 0)) then
      redis.call('PEXPIRE', key, life)
      redis.call('HSET', key, 'lock', begin .. sub(raw, 5, 88) .. renewed .. sub(raw, 119))
      replies[i] = '1'
    else
      replies[i], left_out = '0', true
    end
  end
end
if not left_out then
  return clock .. ' ' .. table.concat(replies)
end
