-- PURGE: delete a window, add its counters to the totals, and subtract the bytes of its deltas, in one step.
local meta, deltas, acc, counters, snapshot, windows = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local window, retain_ms = ARGV[1], tonumber(ARGV[2])

if redis.call('HEXISTS', meta, 'open') == 0 then return 'gone' end -- the survey was deleted
-- By the observed time: a jump of the clock must not delete a window that is retained for a month.
local last_commit = redis.call('HGET', counters, 'observed_ms')
if last_commit and tonumber(redis.call('HGET', meta, 'observed_ms') or '0') - tonumber(last_commit) < retain_ms then
  return 'young'
end
local counted = redis.call('HGETALL', counters)
for i = 1, #counted, 2 do
  if counted[i] ~= 'observed_ms' then redis.call('HINCRBY', meta, 'gone:' .. counted[i], counted[i + 1]) end
end
-- pcall: while a cluster moves this slot key by key, a part may be on another node; the step must not fail.
local start = window .. ':'
for _, field in ipairs(redis.call('HKEYS', deltas)) do
  if string.sub(field, 1, #start) == start then
    local blob = redis.call('HGET', deltas, field)
    local size, names = string.match(blob, '^parts (%d+)(.*)$')
    for name in string.gmatch(names or '', '%S+') do redis.pcall('UNLINK', name) end
    redis.call('HDEL', deltas, field)
    redis.call('HINCRBY', meta, 'delta_bytes', '-' .. (size or #blob))
  end
end
local pointers = redis.call('HGETALL', acc)
for i = 1, #pointers, 2 do
  if string.sub(pointers[i], 1, 6) == 'chunk:' then redis.pcall('UNLINK', pointers[i + 1]) end
end
redis.call('UNLINK', acc, counters, snapshot)
redis.call('SREM', windows, window)
return 'ok'
