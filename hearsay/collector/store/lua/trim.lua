-- TRIM: drop entries below the cursor and below every outstanding range; forget writers that were silent too long.
-- KEYS stream cursor ranges writers
-- ARGV dedup_window_ms
local function parts(id)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end
local cursor = redis.call('HGET', KEYS[2], 'id')
if not cursor then return 0 end
local ms, number = parts(cursor)
local least = string.format('%.0f-%.0f', ms, number + 1)
for _, range in ipairs(redis.call('HVALS', KEYS[3])) do
  local first = string.match(range, '^(%S+)')
  local first_ms, first_number = parts(first)
  if first_ms < ms or (first_ms == ms and first_number <= number) then
    ms, number, least = first_ms, first_number, first
  end
end
local trimmed = redis.call('XTRIM', KEYS[1], 'MINID', '=', least)
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[1])
local writers = redis.call('HGETALL', KEYS[4])
for i = 1, #writers, 2 do
  if tonumber(string.match(writers[i + 1], ' (%d+)$')) < oldest then redis.call('HDEL', KEYS[4], writers[i]) end
end
return trimmed
