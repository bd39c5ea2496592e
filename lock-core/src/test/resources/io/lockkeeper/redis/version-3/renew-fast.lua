-- The fast path of renew.lua, put in front of it: locks that one attempt holds alone, and whose end only moves on. It does what
-- the whole script would do for them; the rest renews those that it left out, and those whose write a full server refused.
--
-- KEYS and ARGV: those of renew.lua

local attempts, all_asked, replies, left_out = ARGV[1], ARGV[2], {}, false
do
  local keys, run = KEYS, redis.pcall
  local held_latest, asked, usual, lease, since, until_now, spared, unusual = HELD .. '9999999999'
  for i = 1, #keys do
    if i == 1 or #all_asked > 30 then
      asked = sub(all_asked, 30 * i - 29, 30 * i)
    end
    if asked ~= usual then
      usual, lease = asked, sub(asked, 1, 13)
      -- Between these two are the times of a hold of this lease that has not lapsed.
      since, until_now = string.format('%s %013.0f999', lease, sub(clock, 1, 13) - lease), lease .. ' ' .. clock
      -- And above this one begin the records of keys that live long enough.
      spared = lease <= LEASE and HELD .. clock or '4'
      -- An exact end may be an earlier one, and what comes behind it in the same command must not be overtaken by it.
      unusual = unusual or sub(asked, 14) ~= '0' .. NO_TOKEN
    end
    local key, done = keys[i], false
    local raw = run('HGET', key, 'lock')
    if raw and #raw >= 142 and not unusual and sub(raw, 86, 105) == sub(attempts, 20 * i - 19, 20 * i) then
      local begin, runs = sub(raw, 1, 27), sub(raw, 113, 142)
      local goes_on = since < runs and runs <= until_now
      if goes_on and spared < begin and begin <= held_latest then
        done = run('HSET', key, 'lock', sub(raw, 1, 126) .. clock .. (#raw > 142 and sub(raw, 143) or '')) == 0
      elseif sub(begin, 1, 1) == '3' and (sub(begin, 2, 2) == 'H' or sub(begin, 2, 2) == 'G')
        and (goes_on or sub(runs, 15) <= clock and sub(runs, 1, 13) < lease
          and sub(runs, 1, 13) + sub(runs, 15, 27) > sub(clock, 1, 13) + 0) then
        done = redis.call('HSET', key, 'lock', '3H' .. sub(begin, 3, 3) .. prolong_key(key, lease) .. sub(raw, 29, 112)
          .. until_now .. sub(raw, 143)) == 0
      end
    end
    replies[i] = done and '1' or '0'
    left_out = left_out or not done
  end
end
if not left_out then
  return clock .. ' ' .. table.concat(replies)
end
