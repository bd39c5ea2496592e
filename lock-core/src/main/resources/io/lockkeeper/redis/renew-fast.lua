-- The fast path of renew.lua, put in front of it: locks that one attempt holds alone, and whose end only moves on. It does what
-- the whole script would do for them; the rest renews those that it left out.
--
-- KEYS and ARGV: those of renew.lua

local replies, left_out, exact = { clock }, false, false
do
  local lease, lapsed, life
  for i, key in ipairs(KEYS) do
    local at = 4 * i - 3
    if ARGV[at + 1] ~= lease then
      lease = ARGV[at + 1]
      lapsed = string.format('%013.0f', sub(clock, 1, 13) - lease)
      life = string.format('%.0f', lease + sub(ARGV[#ARGV], 15, 27))
    end
    -- An exact end may be an earlier one, and what comes behind it in the same command must not be overtaken by it.
    exact = exact or ARGV[at + 2] ~= '0'
    local raw = redis.pcall('HGET', key, 'lock')
    local known = not exact and type(raw) == 'string' and sub(raw, 68, 87) == ARGV[at] and sub(raw, 1, 2) == '2 '
    local state, old = known and sub(raw, 4, 4), known and sub(raw, 106, 118)
    if (state == 'H' or state == 'G') and sub(raw, 89, 104) <= clock and ARGV[at + 3] == '0'
        and ((old == lease and sub(raw, 89, 101) > lapsed) or (old < lease and sub(raw, 89, 101) + old > sub(clock, 1, 13) + 0)) then
      redis.call('PEXPIRE', key, life)
      redis.call('HSET', key, 'lock', sub(raw, 1, 3) .. 'H' .. sub(raw, 5, 88) .. clock .. ' ' .. lease .. sub(raw, 119))
      replies[i + 1] = 1
    else
      replies[i + 1], left_out = 0, true
    end
  end
end
if not left_out then
  return replies
end
