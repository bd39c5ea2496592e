-- Shared by some of the fast paths: how long a key lives. It must live as long as a hold, and then for the time of a tombstone. To
-- give it another end costs Redis as much as to read the record, so a key that is used again lives longer than it must, and its
-- record tells until when no hold of the usual lease needs another end. (A key's life moves with its slot to a master with
-- another clock, that time does not: where clocks differ, clients ask for longer leases, and the usual one does not rely on it.)

-- Lets a key live for a hold that begins now, and no shorter than for a given time, ms; nil: none is given. Returns what its
-- record tells of that.
local function prolong_key(key, lease, least)
  if lease <= LEASE then
    redis.call('PEXPIRE', key, least and math.max(LONGER_LIFE, least) or LONGER_LIFE)
    return LIVES .. time[1] + SPARE .. ' '
  end
  redis.call('PEXPIRE', key, math.max(lease + TOMBSTONE, least or 0))
  return '0000000000000 0000000000 '
end
