-- MERGE: one flip from the old chunks and their deltas to the staged chunks, fenced by what was read.
local acc, deltas, meta = KEYS[1], KEYS[2], KEYS[3]
local BEFORE_CHUNKS = 3 -- then: staged chunks, then parts of the merged deltas
local fence, nonce, layout, cells = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local bytes_merged, reports, chunks = ARGV[5], ARGV[6], tonumber(ARGV[7]) -- reports: in the accumulator afterwards
local BEFORE_NUMBERS = 7 -- then: number of each chunk, then fields of the merged deltas
local first_delta, first_part = BEFORE_NUMBERS + chunks + 1, BEFORE_CHUNKS + chunks + 1

-- Fenced by the nonce of the last merge, not by its number: a server that lost its last second counts again.
if (redis.call('HGET', acc, 'fence') or '') ~= fence then return 'stale' end
if redis.call('HEXISTS', meta, 'open') == 0 then return 'stale' end -- the survey was deleted
for i = 1, chunks do
  if redis.call('EXISTS', KEYS[BEFORE_CHUNKS + i]) == 0 then return 'chunks' end
end
-- A server that lost its last second may have the version and yet not the deltas that were read.
for i = first_delta, #ARGV do
  if redis.call('HEXISTS', deltas, ARGV[i]) == 0 then return 'stale' end
end
for i = 1, chunks do
  local field, staged = 'chunk:' .. ARGV[BEFORE_NUMBERS + i], KEYS[BEFORE_CHUNKS + i]
  local old = redis.call('HGET', acc, field)
  if old then redis.call('UNLINK', old) end
  redis.call('PERSIST', staged)
  redis.call('HSET', acc, field, staged)
end
for i = first_delta, #ARGV do redis.call('HDEL', deltas, ARGV[i]) end
for i = first_part, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('HINCRBY', meta, 'delta_bytes', '-' .. bytes_merged)
redis.call('HINCRBY', meta, 'merges', 1)
redis.call('HSET', acc, 'layout', layout, 'cells', cells, 'fence', nonce, 'reports', reports)
redis.call('HINCRBY', acc, 'version', 1)
return 'ok'
