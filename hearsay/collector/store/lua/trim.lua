-- TRIM: drop entries below the cursor and below every outstanding range; forget writers that were silent too long.
local stream, cursor, ranges, writers = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local dedup_window_ms = tonumber(ARGV[1])

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
local trimmed = redis.call('XTRIM', stream, 'MINID', '=', least)
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - dedup_window_ms
local known = redis.call('HGETALL', writers)
for i = 1, #known, 2 do
  if tonumber(string.match(known[i + 1], ' (%d+)$')) < oldest then redis.call('HDEL', writers, known[i]) end
end
return trimmed
