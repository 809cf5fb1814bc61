-- COMMIT: a range's delta, counters and dead letters, once: only while the range exists with that nonce.
-- KEYS ranges deltas counters meta dead windows part ...
-- ARGV seq nonce window delta bytes dead_kept, number of counters, name increment ..., then per dead letter:
--      id reason length hash payload
local range = redis.call('HGET', KEYS[1], ARGV[1])
if not range or redis.call('HEXISTS', KEYS[4], 'open') == 0 then return 'gone' end -- the survey may be deleted
local words = {}
for word in string.gmatch(range, '%S+') do words[#words + 1] = word end
if words[5] ~= ARGV[2] then return 'stale' end
for i = 7, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return 'parts' end
end
for i = 7, #KEYS do redis.call('PERSIST', KEYS[i]) end
redis.call('HDEL', KEYS[1], ARGV[1])
if #ARGV[4] > 0 then
  -- The nonce tells this delta from one of the same number that a server lost.
  redis.call('HSET', KEYS[2], ARGV[3] .. ':' .. ARGV[1] .. ':' .. ARGV[2], ARGV[4])
  redis.call('HINCRBY', KEYS[4], 'delta_bytes', ARGV[5])
end
redis.call('HINCRBY', KEYS[4], 'bytes_out', words[4])
redis.call('HINCRBY', KEYS[3], 'commits', 1)
redis.call('HINCRBY', KEYS[3], 'entries', words[3])
redis.call('SADD', KEYS[6], ARGV[3])
local at = 8
for _ = 1, tonumber(ARGV[7]) do
  redis.call('HINCRBY', KEYS[3], ARGV[at], ARGV[at + 1])
  at = at + 2
end
while at <= #ARGV do
  redis.call('XADD', KEYS[5], 'MAXLEN', '~', ARGV[6], '*', 'entry', ARGV[at], 'reason', ARGV[at + 1],
    'length', ARGV[at + 2], 'sha256', ARGV[at + 3], 'payload', ARGV[at + 4])
  at = at + 5
end
return 'ok'
