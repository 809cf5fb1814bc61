-- PUBLISH: append a writer's batch once. The server assigns ids; the writer's last number makes a repeat harmless.
-- KEYS stream writers meta
-- ARGV writer number reports backlog_entries backlog_bytes pressure_ttl_ms memory_share, then field payload ...
local last = 0
local known = redis.call('HGET', KEYS[2], ARGV[1])
if known then last = tonumber(string.match(known, '^(%d+)')) end
local number = tonumber(ARGV[2])
if number <= last then return {'duplicate', last} end
local meta = redis.call('HMGET', KEYS[3], 'open', 'pressure', 'pressure_at', 'bytes_in', 'bytes_out')
if not meta[1] then return {'unknown', last} end
if number > last + 1 then return {'gap', last} end
if meta[1] == '0' then return {'closed', last} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local cause = nil
if meta[2] and now - tonumber(meta[3]) < tonumber(ARGV[6]) then
  cause = meta[2]
elseif redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[4])
  or tonumber(meta[4] or '0') - tonumber(meta[5] or '0') >= tonumber(ARGV[5]) then
  cause = 'backlog'
else
  -- Seen here too: with no collector to mark it, writers would fill the server, and a full one cannot drain.
  local memory = redis.pcall('INFO', 'memory')
  memory = type(memory) == 'string' and memory or memory.txt or ''
  local limit = tonumber(string.match(memory, '\nmaxmemory:(%d+)') or '0')
  local used = tonumber(string.match(memory, '\nused_memory:(%d+)') or '0')
  if limit > 0 and used >= tonumber(ARGV[7]) * limit then cause = 'memory' end
end
if cause then
  -- A writer that waits is not silent: forgotten, it could not tell what is stored.
  if known then redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f %.0f', last, now)) end
  return {'pressure', last, cause}
end
local bytes = 0
for i = 8, #ARGV, 2 do
  redis.call('XADD', KEYS[1], '*', ARGV[i], ARGV[i + 1])
  bytes = bytes + #ARGV[i + 1]
end
redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f %.0f', number, now))
redis.call('HINCRBY', KEYS[3], 'entries_in', (#ARGV - 7) / 2)
redis.call('HINCRBY', KEYS[3], 'reports_in', ARGV[3])
redis.call('HINCRBY', KEYS[3], 'bytes_in', bytes)
return {'ok', number}
