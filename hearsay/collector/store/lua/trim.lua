-- TRIM: delete entries below the cursor and below every outstanding range, advance the observed time, and delete
-- writers and hours of request ids that were not used for `dedup_ms` of it.
local stream, cursor, ranges, writers, meta, hours = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local longest_step_ms, writers_at_once = tonumber(ARGV[1]), ARGV[2]
local ids, HOUR_MS = ARGV[3], 3600000 -- ids: what the keys of all hours begin with

if redis.call('HEXISTS', meta, 'open') == 0 then return 0 end -- the survey was deleted
-- The observed time: a clock that jumps forward adds at most one step, one that goes back adds nothing. Only this time
-- decides what is deleted for ever.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.call('HMGET', meta, 'observed_ms', 'observed_at', 'dedup_ms', 'writers_scan')
local step = math.min(math.max(now - tonumber(fields[2] or now), 0), longest_step_ms)
local observed = tonumber(fields[1] or '0') + step
local oldest = observed - tonumber(fields[3] or '0')
-- Some writers at a time: all of them at once would block the server for a second or more.
local next_scan, scanned = unpack(redis.call('HSCAN', writers, fields[4] or '0', 'COUNT', writers_at_once))
for i = 1, #scanned, 2 do
  if tonumber(string.match(scanned[i + 1], ' (%-?%d+)$')) < oldest then redis.call('HDEL', writers, scanned[i]) end
end
redis.call('HSET', meta, 'observed_ms', string.format('%.0f', observed), 'observed_at', string.format('%.0f', now),
  'writers_scan', next_scan)
-- The floor never decreases: an id of its hour or before is refused, since it is unknown whether it was stored. An hour
-- after the server's clock is kept; otherwise a single id from the future would raise the floor above all others.
local stamps, floor, raised = redis.call('HGETALL', hours), -1, -1
for i = 1, #stamps, 2 do
  local hour, stamp = tonumber(stamps[i]), tonumber(stamps[i + 1])
  if not hour then
    floor = stamp
  elseif stamp < oldest and hour * HOUR_MS <= now then
    raised = math.max(raised, hour)
  end
end
if raised > floor then
  redis.call('HSET', hours, 'floor', string.format('%.0f', raised))
  for i = 1, #stamps, 2 do
    if stamps[i] ~= 'floor' and tonumber(stamps[i]) <= raised then
      redis.pcall('UNLINK', ids .. stamps[i]) -- pcall: it may be on another node while a cluster moves this slot
      redis.call('HDEL', hours, stamps[i])
    end
  end
end
local function parts(id)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end
local at = redis.call('HGET', cursor, 'id')
if not at then return 0 end
local ms, number = parts(at)
local least = string.format('%.0f-%.0f', ms, number + 1)
for _, range in ipairs(redis.call('HVALS', ranges)) do
  local first = string.match(range, '^(%S+)')
  local first_ms, first_number = parts(first)
  if first_ms < ms or (first_ms == ms and first_number <= number) then
    ms, number, least = first_ms, first_number, first
  end
end
return redis.call('XTRIM', stream, 'MINID', '=', least)
