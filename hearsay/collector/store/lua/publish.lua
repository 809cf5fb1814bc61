-- PUBLISH: append a writer's batch once. The server assigns ids; the writer's last number detects a repeat. If some
-- request ids are stored already, it returns them and appends nothing: single reports cannot be removed from a frame.
local stream, writers, meta, rounds, marks, hours = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local published = KEYS[7] -- totals: a writer has the right to write these, but not meta
local IDS = 7 -- KEYS after this one: the ids of an hour, one key for each hour named in ARGV
local writer, number, reports = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]) -- number 0: only ask for the last number
local seen, round = tonumber(ARGV[4]), ARGV[5] -- seen: `observed` of the last reply; round: '' if there are none
local named = tonumber(ARGV[6]) -- how many hours; then: hour ids ..., ids: 8 bytes of the id, 4 of the digest, ...
local FIRST = 7 + 2 * (named or 0) -- then: field payload ...
local ID, WIDTH, AT_ONCE = 8, 12, 2000 -- bytes, bytes, and ids in one command: Lua takes some thousand arguments
local SIMULATED = 'simulated-' -- the name of a writer of simulated devices begins so

-- Everything is checked before anything is appended.
local function is_count(value) return value and value >= 0 and value == math.floor(value) and value < 2 ^ 53 end
if not (is_count(number) and is_count(reports) and is_count(seen)) or named ~= #KEYS - IDS
  or (#ARGV - FIRST + 1) % 2 ~= 0 then
  return redis.error_reply('PUBLISH needs whole numbers, a key for every hour, and a payload for every field')
end
for i = 1, named do
  if not is_count(tonumber(ARGV[5 + 2 * i])) or #ARGV[6 + 2 * i] % WIDTH ~= 0 then
    return redis.error_reply('PUBLISH needs whole hours, and ids of 12 bytes')
  end
end
local fields = redis.call('HMGET', meta, 'open', 'observed_ms', 'dedup_ms', 'bytes_out',
  'max_entries', 'max_bytes', 'memory_share', 'pressure', 'pressure_at', 'pressure_ttl_ms')
local open, observed = fields[1], tonumber(fields[2] or '0')
local dedup_ms, bytes_out = tonumber(fields[3] or '0'), tonumber(fields[4] or '0')
local max_entries, max_bytes = tonumber(fields[5]) or math.huge, tonumber(fields[6]) or math.huge
local memory_share = tonumber(fields[7]) or 1
local pressure, pressure_at, pressure_ttl_ms = fields[8], tonumber(fields[9]), tonumber(fields[10])
local bytes_in = tonumber(redis.call('HGET', published, 'bytes_in') or '0')
local last, known = 0, redis.call('HGET', writers, writer)
if known then last = tonumber(string.match(known, '^(%d+)')) end
-- Every reply renews the writer's record, also one that asks it to wait or notes a repeat: from `observed` in the reply
-- the writer concludes how long the record is kept.
local function answer(status, cause, repeats)
  if known and open then redis.call('HSET', writers, writer, string.format('%.0f %.0f', last, observed)) end
  return {status, last, cause or '', observed, repeats or {}}
end

if number == 0 then return answer(open and 'hello' or 'unknown') end
if number <= last then return answer('duplicate') end
if not open then return answer('unknown') end
-- The record of a writer that was silent for so long may be deleted: it is unknown whether its last batch is stored.
if not known and observed - seen > dedup_ms then return answer('forgotten') end
if number > last + 1 then return answer('gap') end
-- Before anything else that may refuse the batch, so that a repeat gets the same reply as the first one.
if named > 0 then
  local floor, repeats, before = tonumber(redis.call('HGET', hours, 'floor') or '-1'), {}, 0
  for i = 1, named do
    local ids, expired = ARGV[6 + 2 * i], tonumber(ARGV[5 + 2 * i]) <= floor
    for start = 0, #ids - 1, WIDTH * AT_ONCE do
      local names = {}
      for at = start + 1, math.min(start + WIDTH * AT_ONCE, #ids), WIDTH do
        names[#names + 1] = string.sub(ids, at, at + ID - 1)
      end
      local digests = expired and {} or redis.call('HMGET', KEYS[IDS + i], unpack(names))
      for at = 1, #names do
        if expired or digests[at] then
          repeats[#repeats + 1] = before + at
          repeats[#repeats + 1] = digests[at] or ''
        end
      end
      before = before + #names
    end
  end
  if #repeats > 0 then return answer('known', '', repeats) end
end
if open == '0' then return answer('closed') end
if round ~= '' then
  local newest = redis.call('HMGET', rounds, 'number', 'open')
  if newest[1] ~= round or newest[2] ~= '1' then return answer('closed', 'round') end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local cause = nil
-- A mark from the future is ignored: the clock went back, and writers would wait until it catches up.
if pressure and now >= pressure_at and now - pressure_at < pressure_ttl_ms then
  cause = pressure
elseif redis.call('XLEN', stream) >= max_entries or bytes_in - bytes_out >= max_bytes then
  cause = 'backlog'
else
  -- Checked here too: without a collector that marks it, writers would fill the memory, and no work could go on.
  local memory = redis.pcall('INFO', 'memory')
  memory = type(memory) == 'string' and memory or memory.txt or ''
  local limit = tonumber(string.match(memory, '\nmaxmemory:(%d+)') or '0')
  local used = tonumber(string.match(memory, '\nused_memory:(%d+)') or '0')
  if limit > 0 and used >= memory_share * limit then
    cause = 'memory'
    -- Noted for LOOK: `used` has the arguments of this call, and between calls the memory may look free. pcall: on a full
    -- server nothing can be noted, and LOOK's caller sees that it is full.
    redis.pcall('HSET', published, 'memory_at', string.format('%.0f', now))
  end
end
if cause then return answer('pressure', cause) end
local first_id, last_id, frames, singles, bytes = nil, nil, 0, 0, 0
for i = FIRST, #ARGV, 2 do
  local field, payload = ARGV[i], ARGV[i + 1]
  if round == '' then
    last_id = redis.call('XADD', stream, '*', field, payload)
  else
    last_id = redis.call('XADD', stream, '*', field, payload, 'k', round)
  end
  first_id = first_id or last_id
  if field == 'f' then frames = frames + 1 else singles = singles + 1 end
  bytes = bytes + #payload
end
-- What CUT needs to know of the batch, so that it does not read the entries. The time is the server's clock; ids may be
-- ahead of it, since they never decrease.
if first_id then
  redis.call('RPUSH', marks, string.format('%s %s %d %d %.0f %.0f', first_id, last_id, frames, singles, bytes, now))
end
for i = 1, named do
  local ids = ARGV[6 + 2 * i]
  for start = 0, #ids - 1, WIDTH * AT_ONCE do
    local pairs_of = {}
    for at = start + 1, math.min(start + WIDTH * AT_ONCE, #ids), WIDTH do
      pairs_of[#pairs_of + 1] = string.sub(ids, at, at + ID - 1)
      pairs_of[#pairs_of + 1] = string.sub(ids, at + ID, at + WIDTH - 1)
    end
    redis.call('HSET', KEYS[IDS + i], unpack(pairs_of))
  end
  redis.call('HSET', hours, ARGV[5 + 2 * i], string.format('%.0f', observed))
end
redis.call('HINCRBY', published, 'entries_in', frames + singles)
redis.call('HINCRBY', published, 'reports_in', string.format('%.0f', reports))
redis.call('HINCRBY', published, 'bytes_in', string.format('%.0f', bytes))
if string.sub(writer, 1, #SIMULATED) == SIMULATED then
  redis.call('HINCRBY', published, 'simulated_in', string.format('%.0f', reports))
end
last, known = number, true
return answer('ok')
