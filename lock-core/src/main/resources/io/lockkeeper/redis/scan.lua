-- Returns a page of the keys of one server. A script, because a client sends it to the server of its key.
--
-- KEYS[1]  a key whose slot that server has; not touched
-- ARGV[1]  cursor, 0 at the beginning    ARGV[2]  pattern    ARGV[3]  about how many keys are looked at
--
-- Reply: the next cursor, 0 at the end, and a line feed; then for each key its length, a colon and the key

local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local keys = page[2]
for i, key in ipairs(keys) do
  keys[i] = #key .. ':' .. key
end
return page[1] .. '\n' .. table.concat(keys)
