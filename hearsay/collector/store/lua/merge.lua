-- MERGE: one flip from the old chunks and their deltas to the staged chunks, fenced by the version read.
-- KEYS acc deltas meta, then staged chunks, then parts of the merged deltas
-- ARGV version layout cells bytes_merged, number of chunks, chunk number ..., delta field ...
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 'stale' end
if redis.call('HEXISTS', KEYS[3], 'open') == 0 then return 'stale' end -- the survey was deleted
local chunks = tonumber(ARGV[5])
for i = 1, chunks do
  if redis.call('EXISTS', KEYS[3 + i]) == 0 then return 'chunks' end
end
-- A server that lost its last second may have the version and yet not the deltas that were read.
for i = 6 + chunks, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then return 'stale' end
end
for i = 1, chunks do
  local field, staged = 'chunk:' .. ARGV[5 + i], KEYS[3 + i]
  local old = redis.call('HGET', KEYS[1], field)
  if old then redis.call('UNLINK', old) end
  redis.call('PERSIST', staged)
  redis.call('HSET', KEYS[1], field, staged)
end
for i = 6 + chunks, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
for i = 4 + chunks, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('HINCRBY', KEYS[3], 'delta_bytes', '-' .. ARGV[4])
redis.call('HINCRBY', KEYS[3], 'merges', 1)
redis.call('HSET', KEYS[1], 'layout', ARGV[2], 'cells', ARGV[3])
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 'ok'
