-- Takes a lock for an attempt, or a place in its queue; repeated by waiting attempts as a sign of life.
-- Idempotent for each attempt: an owner has its lease refreshed, a waiter keeps its place.
--
-- KEYS[1]  the lock record
-- ARGV[1]  attempt            ARGV[2]  mode: X exclusive, F fair    ARGV[3]  lease, ms
-- ARGV[4]  how long a place in the queue is kept, ms; 0: do not queue
-- ARGV[5]  grant time, ms     ARGV[6]  fencing tokens to reserve
-- ARGV[7]  the earliest server time at which this was sent, ms
-- ARGV[8]  the last server time at which this may run, ms
-- ARGV[9]  prefix of the grant channels                             ARGV[10] life of a tombstone, ms
--
-- Replies, each with the server time in ms:
--   ACQUIRED now first_token       the attempt holds the lock
--   QUEUED now owner remaining_ms  it waits
--   BUSY now owner remaining_ms    it does not wait, and somebody else holds the lock
--   LATE now                       the command came too late and did nothing
--   RESEND now                     the lock had another holder since this was sent: it may be a late copy; did nothing
--   ENDED now                      the attempt has released the lock before: a copy of an old command; did nothing
--   FOREIGN now                    the key holds something that is not a lock record of this version

local me, mode, lease_ms, alive_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local grant_ms, tokens, sent, not_after = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local channel_prefix, tombstone_ms = ARGV[9], tonumber(ARGV[10])

local micros = server_micros()
local now = math.floor(micros / 1000)
if now > not_after then
  return { 'LATE', now }
end
local record = read_record()
if not record then
  return { 'FOREIGN', now }
end
if record.owner == me and record.ends > now then
  redis.call('HSET', KEYS[1], 'until', whole(math.max(record.ends, now + lease_ms)), 'granted', '0')
  redis.call('PEXPIRE', KEYS[1], math.max(record.ends - now, lease_ms) + tombstone_ms)
  return { 'ACQUIRED', now, record.token - tokens + 1 }
end
if record.previous == me then
  return { 'ENDED', now }
end

end_lapsed_hold(record, now)
local place = place_of(record, me)
if record.owner == '' then
  local head = first_live(record, now)
  if head and head.attempt ~= me then
    grant(record, head, micros, channel_prefix, tombstone_ms)
  elseif not place and record.since > sent and record.since <= now then
    return { 'RESEND', now }
  else
    if place then
      remove_at(record, place_of(record, me) or 1)
    end
    return { 'ACQUIRED', now, own(record, me, mode, lease_ms, tokens, false, micros, tombstone_ms) }
  end
end
if alive_ms == 0 then
  return { 'BUSY', now, record.owner, record.ends - now }
end
enqueue(record, me, mode, now + alive_ms, grant_ms, tokens)
redis.call('HSET', KEYS[1], 'queue', record.queue)
return { 'QUEUED', now, record.owner, record.ends - now }
