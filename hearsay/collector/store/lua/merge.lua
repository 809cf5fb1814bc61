-- MERGE: replace old chunks and their deltas by staged chunks in one step, if nothing changed since they were read.
local acc, deltas, meta = KEYS[1], KEYS[2], KEYS[3]
local BEFORE_CHUNKS = 3 -- then: staged chunks, then parts of the merged deltas
local fence, nonce, layout, cells = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local bytes_merged, reports, chunks = ARGV[5], ARGV[6], tonumber(ARGV[7]) -- reports: in the accumulator afterwards
local BEFORE_NUMBERS = 7 -- then: number of each chunk, then fields of the merged deltas
local first_delta, first_part = BEFORE_NUMBERS + chunks + 1, BEFORE_CHUNKS + chunks + 1

-- Delete staged chunks that are not used. An accumulator may name some of them: this call may be a repeat of one that
-- succeeded and whose reply was lost, and a later merge may have kept some of its chunks.
local function refuse(why)
  for i = 1, chunks do
    local staged = KEYS[BEFORE_CHUNKS + i]
    if redis.call('HGET', acc, 'chunk:' .. ARGV[BEFORE_NUMBERS + i]) ~= staged then redis.call('UNLINK', staged) end
  end
  return why
end
-- The fence is the nonce of the last merge, not its number: a server that lost its last second reuses numbers.
local at = redis.call('HGET', acc, 'fence') or ''
if at == nonce then return 'ok' end -- a repeat
if at ~= fence then return refuse('stale') end
if redis.call('HEXISTS', meta, 'open') == 0 then return refuse('stale') end -- the survey was deleted
for i = 1, chunks do
  if redis.call('EXISTS', KEYS[BEFORE_CHUNKS + i]) == 0 then return refuse('chunks') end
end
-- A server that lost its last second may have the same version without the deltas that were read.
for i = first_delta, #ARGV do
  if redis.call('HEXISTS', deltas, ARGV[i]) == 0 then return refuse('stale') end
end
for i = 1, chunks do
  local field, staged = 'chunk:' .. ARGV[BEFORE_NUMBERS + i], KEYS[BEFORE_CHUNKS + i]
  local old = redis.call('HGET', acc, field)
  -- pcall: while a cluster moves this slot key by key, the old chunk may be on another node; the step must not fail.
  if old then redis.pcall('UNLINK', old) end
  redis.call('PERSIST', staged)
  redis.call('HSET', acc, field, staged)
end
local merged = {}
for i = first_delta, #ARGV do
  redis.call('HDEL', deltas, ARGV[i])
  merged[#merged + 1] = ARGV[i]
end
for i = first_part, #KEYS do redis.call('UNLINK', KEYS[i]) end
if bytes_merged ~= '0' then redis.call('HINCRBY', meta, 'delta_bytes', '-' .. bytes_merged) end -- 0: only packed
redis.call('HINCRBY', meta, 'merges', 1)
-- A reader of the accumulator before this merge and of these deltas need not read it again. The nonce shows that this
-- merge wrote the field: releases up to 0.2.0 do not write it.
redis.call('HSET', acc, 'layout', layout, 'cells', cells, 'fence', nonce, 'reports', reports,
  'merged', nonce .. ' ' .. fence .. ' ' .. table.concat(merged, ' '))
redis.call('HINCRBY', acc, 'version', 1)
return 'ok'
