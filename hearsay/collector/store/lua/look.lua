-- LOOK: everything that a pass, a query or the status table needs to know of a shard, at one moment. Reads only.
local meta, cursor, stream, ranges, deltas = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead, windows, rounds, marks, published = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local base, by_clock = ARGV[1], ARGV[2] == '1' -- base: the start of all keys; by_clock: windows have times
local FIRST = 3 -- then: names of windows to leave out

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local at = redis.call('HMGET', cursor, 'id', 'entries')
-- The oldest batch that is not cut, and an entry before it without a mark, which was appended by hand.
local mark = redis.call('LINDEX', marks, 0) or ''
local first = string.match(mark, '^(%S+)')
local stray = redis.call('XRANGE', stream, '(' .. (at[1] or '0-0'), first and '(' .. first or '+', 'COUNT', 1)[1]
-- If the clock went back, later batches may belong to earlier windows: the oldest time may be that of any batch.
local oldest, batches, PAGE = nil, by_clock and redis.call('LLEN', marks) or 0, 1000
for start = 0, batches - 1, PAGE do
  for _, batch in ipairs(redis.call('LRANGE', marks, start, start + PAGE - 1)) do
    oldest = math.min(oldest or math.huge, tonumber(string.match(batch, '(%d+)$')))
  end
end
local known = {}
for i = FIRST, #ARGV do known[ARGV[i]] = true end
local window_looks = {}
for _, name in ipairs(redis.call('SMEMBERS', windows)) do
  local window = {name}
  if not known[name] then
    window = {name, redis.call('HGETALL', base .. 'counters:' .. name),
      redis.call('HMGET', base .. 'acc:' .. name, 'version', 'fence', 'reports'),
      redis.call('HGET', base .. 'snapshot:' .. name, 'version') or ''}
  end
  window_looks[#window_looks + 1] = window
end
local server = redis.pcall('INFO', 'server')
server = type(server) == 'string' and server or server.txt or ''
-- Only these fields: a user who may write the totals must not be able to change other fields of meta.
local totals = redis.call('HGETALL', meta)
for _, name in ipairs({'entries_in', 'reports_in', 'bytes_in', 'simulated_in', 'memory_at'}) do
  local total = redis.call('HGET', published, name)
  if total then
    totals[#totals + 1] = name
    totals[#totals + 1] = total
  end
end
return {now, totals, at[1] or '', at[2] or '0', redis.call('XLEN', stream),
  redis.call('HGETALL', ranges), redis.call('HKEYS', deltas), redis.call('XLEN', dead), redis.call('HGETALL', rounds),
  mark, stray and stray[1] or '', oldest and string.format('%.0f', oldest) or '',
  window_looks, string.match(server, 'run_id:(%w+)') or ''}
