-- PUBLISH: append a writer's batch once. The server assigns ids; the writer's last number makes a repeat harmless.
local stream, writers, meta, rounds = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local writer, number, reports = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local backlog_entries, backlog_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local pressure_ttl_ms, memory_share, round = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8] -- round: '' where none are
local FIRST = 9 -- then: field payload ...

local last = 0
local known = redis.call('HGET', writers, writer)
if known then last = tonumber(string.match(known, '^(%d+)')) end
if number <= last then return {'duplicate', last} end
local held = redis.call('HMGET', meta, 'open', 'pressure', 'pressure_at', 'bytes_in', 'bytes_out')
local open, pressure, pressure_at, bytes_in, bytes_out = held[1], held[2], held[3], held[4], held[5]
if not open then return {'unknown', last} end
if number > last + 1 then return {'gap', last} end
if open == '0' then return {'closed', last} end
if round ~= '' then
  local at = redis.call('HMGET', rounds, 'number', 'open')
  if at[1] ~= round or at[2] ~= '1' then return {'closed', last, 'round'} end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local cause = nil
if pressure and now - tonumber(pressure_at) < pressure_ttl_ms then
  cause = pressure
elseif redis.call('XLEN', stream) >= backlog_entries
  or tonumber(bytes_in or '0') - tonumber(bytes_out or '0') >= backlog_bytes then
  cause = 'backlog'
else
  -- Seen here too: with no collector to mark it, writers would fill the server, and a full one cannot drain.
  local memory = redis.pcall('INFO', 'memory')
  memory = type(memory) == 'string' and memory or memory.txt or ''
  local limit = tonumber(string.match(memory, '\nmaxmemory:(%d+)') or '0')
  local used = tonumber(string.match(memory, '\nused_memory:(%d+)') or '0')
  if limit > 0 and used >= memory_share * limit then cause = 'memory' end
end
if cause then
  -- A writer that waits is not silent: forgotten, it could not tell what is stored.
  if known then redis.call('HSET', writers, writer, string.format('%.0f %.0f', last, now)) end
  return {'pressure', last, cause}
end
local bytes = 0
for i = FIRST, #ARGV, 2 do
  local field, payload = ARGV[i], ARGV[i + 1]
  if round == '' then
    redis.call('XADD', stream, '*', field, payload)
  else
    redis.call('XADD', stream, '*', field, payload, 'k', round)
  end
  bytes = bytes + #payload
end
redis.call('HSET', writers, writer, string.format('%.0f %.0f', number, now))
redis.call('HINCRBY', meta, 'entries_in', (#ARGV - FIRST + 1) / 2)
redis.call('HINCRBY', meta, 'reports_in', reports)
redis.call('HINCRBY', meta, 'bytes_in', bytes)
return {'ok', number}
