-- Put in front of each script. Times and tokens are compared as texts of equal length wherever that is enough: to turn one
-- number into a text, or back, costs Redis half as much as a command. An argument costs a quarter of one, so what belongs
-- together is one argument, in parts that always begin at the same place; a reply is one text, its parts with blanks between.

-- The same for all scripts of a store, which writes the values: the lease of holds that are renewed, and the time of a grant, both
-- of 13 digits; how long a free lock is remembered; how long a place is kept; all ms. With what the channels of clients begin.
local LEASE, GRANT, TOMBSTONE, ALIVE, CHANNELS = ${lease}, ${grant}, ${tombstone}, ${alive}, ${channels}
-- How long a key lives whose lock is held for the lease, ms: where the name is new, and where it was used before, which is
-- longer. The same in whole seconds: so much longer must a key live that needs no other end, and so long at least it then does.
-- A record tells nine digits of the second of a key's end: one further ahead than the last of these is from before they began
-- anew.
local LIFE, LONGER_LIFE, NEEDED, GIVEN, LONGEST = ${life}, ${longer}, ${needed}, ${given}, 500000000

local sub = string.sub
local time = redis.call('TIME')
-- The server's time in us, 16 digits.
local clock = time[1] .. (#time[2] == 6 and time[2] or sub('00000' .. time[2], -6))

-- As an argument: no token was used, or all that are reserved stay so.
local NO_TOKEN = '0000000000000000'
-- What stands in a record that has no owner, and so long that it takes the place of one.
local NO_HOLD = '4--------------------- 0000000000000 0000000000000000 000000000'
-- A script looks at so many readers, and gives so many grants; the next one goes on.
local MOST = 64
