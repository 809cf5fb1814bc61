-- COMMIT: store the delta, counters and dead letters of a range once: only while the range exists with that nonce.
local ranges, deltas, counters, meta, dead, windows = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local FIRST_PART = 7 -- then: keys of the delta's parts
local seq, nonce, window, delta, delta_bytes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local dead_kept, number_of_counters = ARGV[6], tonumber(ARGV[7])
local at = 8 -- then: counter increment ..., then per dead letter: entry reason length sha256 payload

local range = redis.call('HGET', ranges, seq)
if not range or redis.call('HEXISTS', meta, 'open') == 0 then return 'gone' end -- the survey may be deleted
local _, _, entries, bytes, range_nonce = string.match(range, '^(%S+) (%S+) (%S+) (%S+) (%S+)')
if range_nonce ~= nonce then return 'stale' end
for i = FIRST_PART, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return 'parts' end
end
for i = FIRST_PART, #KEYS do redis.call('PERSIST', KEYS[i]) end
redis.call('HDEL', ranges, seq)
if #delta > 0 then
  -- The nonce distinguishes this delta from one of the same number that a server lost.
  redis.call('HSET', deltas, window .. ':' .. seq .. ':' .. nonce, delta)
  redis.call('HINCRBY', meta, 'delta_bytes', delta_bytes)
end
redis.call('HINCRBY', meta, 'bytes_out', bytes)
redis.call('HINCRBY', counters, 'commits', 1)
redis.call('HINCRBY', counters, 'entries', entries)
redis.call('SADD', windows, window)
-- The observed time: a clock that jumps must not make the window old.
local observed = redis.call('HGET', meta, 'observed_ms') or '0'
redis.call('HSET', counters, 'observed_ms', observed)
for _ = 1, number_of_counters do
  redis.call('HINCRBY', counters, ARGV[at], ARGV[at + 1])
  at = at + 2
end
while at <= #ARGV do
  redis.call('XADD', dead, 'MAXLEN', '~', dead_kept, '*', 'entry', ARGV[at], 'reason', ARGV[at + 1],
    'length', ARGV[at + 2], 'sha256', ARGV[at + 3], 'payload', ARGV[at + 4], 'observed_ms', observed)
  at = at + 5
end
return 'ok'
