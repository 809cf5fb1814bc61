-- TRIM: drop entries below the cursor and below every outstanding range, watch time go by, and forget silent writers
-- and the ids of hours that nobody has sent any of for as long.
local stream, cursor, ranges, writers, meta, hours = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local longest_step_ms, writers_at_once = tonumber(ARGV[1]), ARGV[2]
local ids, HOUR_MS = ARGV[3], 3600000 -- ids: what the keys of all hours begin with

if redis.call('HEXISTS', meta, 'open') == 0 then return 0 end -- the survey was deleted
-- Time as this script has seen it go by: a clock that jumps forward adds one step, one that goes back nothing. What is
-- forgotten for ever is forgotten by this time alone.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', meta, 'observed_ms', 'observed_at', 'dedup_ms', 'writers_scan')
local step = math.min(math.max(now - tonumber(held[2] or now), 0), longest_step_ms)
local observed = tonumber(held[1] or '0') + step
local oldest = observed - tonumber(held[3] or '0')
-- A few writers at a time: all of them at once would stop the server for a second and more.
local found = redis.call('HSCAN', writers, held[4] or '0', 'COUNT', writers_at_once)
for i = 1, #found[2], 2 do
  if tonumber(string.match(found[2][i + 1], ' (%-?%d+)$')) < oldest then redis.call('HDEL', writers, found[2][i]) end
end
redis.call('HSET', meta, 'observed_ms', string.format('%.0f', observed), 'observed_at', string.format('%.0f', now),
  'writers_scan', found[1])
-- The floor never sinks: an id at or below it is refused, since nobody knows any more whether it was stored. An hour
-- that the server's clock has not reached is kept, or a single id from the future would raise the floor above all others.
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
      redis.pcall('UNLINK', ids .. stamps[i]) -- pcall: it may be elsewhere while a cluster moves this slot
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
