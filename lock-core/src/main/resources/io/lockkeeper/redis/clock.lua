-- Put in front of each script. Times and tokens are compared as texts of equal length wherever that is enough: to turn one
-- number into a text, or back, costs Redis half as much as a command.

local sub = string.sub
local time = redis.call('TIME')
-- The server's time in us, 16 digits.
local clock = time[1] .. (#time[2] == 6 and time[2] or sub('00000' .. time[2], -6))

-- What stands in a record behind the state of a lock that has readers, and no waiter.
local READING = ' 1 1 0 0 0'
-- A script looks at so many places, and gives so many grants; the next one goes on.
local MOST = 64
