-- Shared by the fast paths of release.lua and handover.lua.

-- Returns the last fencing token that the owner has used, or keeps reserved.
local function last_token(raw, used)
  local first, count = sub(raw, 24, 39), sub(raw, 41, 45)
  if used == first or (used == NO_TOKEN and count == '00001') then
    return first
  end
  local offset = used - first
  return offset >= -1 and offset < count - 1 and used or string.format('%.0f', first + count - 1)
end
