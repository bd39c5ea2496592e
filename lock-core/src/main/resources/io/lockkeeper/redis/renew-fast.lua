-- The fast path of renew.lua, put in front of it: locks that one attempt holds alone, and whose end only moves on. It does what
-- the whole script would do for them; the rest renews those that it left out, and those whose write a full server refused.
--
-- KEYS and ARGV: those of renew.lua

local attempts, all_asked, replies, left_out = ARGV[1], ARGV[2], {}, false
do
  local keys, run = KEYS, redis.pcall
  local asked, usual, lease, since, until_now, needed, longest, unusual, shared
  for i = 1, #keys do
    if i == 1 or #all_asked > 30 then
      asked = sub(all_asked, 30 * i - 29, 30 * i)
    end
    if asked ~= usual then
      usual, lease = asked, sub(asked, 1, 13)
      -- Between these two are the times of a hold of this lease that has not lapsed.
      since, until_now = string.format(' %s %013.0f999', lease, sub(clock, 1, 13) - lease), ' ' .. lease .. ' ' .. clock
      -- And not below this one is the end of a key that lives long enough. Where its digits begin anew in between, none does; nor
      -- one with an end from before that.
      local seconds = sub(time[1], 2)
      needed = lease <= LEASE and sub(time[1] + NEEDED, 2) or 'none'
      needed = needed < seconds and 'none' or needed
      longest = seconds < '500000000' and sub(time[1] + LONGEST, 2) or '999999999'
      -- An exact end may be an earlier one, and what comes behind it in the same command must not be overtaken by it.
      unusual = unusual or sub(asked, 14) ~= '0' .. NO_TOKEN
    end
    local key, attempt, done = keys[i], sub(attempts, 20 * i - 19, 20 * i), false
    -- Of those who hold a lock together, there is none to be read.
    local hold = key ~= shared and run('HGET', key, 'hold')
    shared = (hold == NO_HOLD or key == shared) and key
    if hold and #hold == 63 and not unusual and sub(hold, 3, 22) == attempt then
      local state, runs, lives = sub(hold, 1, 2), sub(hold, 23, 53), sub(hold, 55)
      local goes_on = since < runs and runs <= until_now
      if state == '4H' and goes_on and lives >= needed and lives <= longest then
        done = run('HSET', key, 'hold', '4H' .. attempt .. until_now .. ' ' .. lives) == 0
      elseif (state == '4H' or state == '4G') and (goes_on or sub(runs, 16) <= clock and sub(runs, 2, 14) < lease
        and sub(runs, 2, 14) + sub(runs, 16, 28) > sub(clock, 1, 13) + 0) then
        done = redis.call('HSET', key, 'hold', '4H' .. attempt .. until_now .. ' ' .. prolong_key(key, lease)) == 0
      end
    end
    replies[i] = done and '1' or '0'
    left_out = left_out or not done
  end
end
if not left_out then
  return clock .. ' ' .. table.concat(replies)
end
