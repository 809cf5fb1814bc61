-- CUT: the next entries after the cursor become a range, within one window, when full or old enough.
-- KEYS stream cursor ranges deltas meta
-- ARGV nonce every_ms max_frames max_singles max_bytes age_ms max_deltas max_delta_bytes
if redis.call('HLEN', KEYS[4]) >= tonumber(ARGV[7])
  or tonumber(redis.call('HGET', KEYS[5], 'delta_bytes') or '0') >= tonumber(ARGV[8]) then
  return {'deltas'}
end
-- A deleted survey: nothing of it may come back.
if redis.call('HEXISTS', KEYS[5], 'open') == 0 then return {'empty'} end
local function milliseconds(id) return tonumber(string.match(id, '^(%d+)')) end
local every, frames, singles, bytes = tonumber(ARGV[2]), 0, 0, 0
local at_cursor = redis.call('HMGET', KEYS[2], 'id', 'entries', 'bytes')
local cursor = at_cursor[1] or '0-0'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Most calls find a few young entries: tell that from the totals and the oldest one, without reading them all.
local oldest = redis.call('XRANGE', KEYS[1], '(' .. cursor, '+', 'COUNT', 1)[1]
if not oldest then return {'empty'} end
local published = redis.call('HMGET', KEYS[5], 'entries_in', 'bytes_in')
local waiting = tonumber(published[1] or '0') - tonumber(at_cursor[2] or '0')
local waiting_bytes = tonumber(published[2] or '0') - tonumber(at_cursor[3] or '0')
local born = milliseconds(oldest[1])
if now - born < tonumber(ARGV[6]) and waiting_bytes < tonumber(ARGV[5])
  and waiting < tonumber(oldest[2][1] == 'f' and ARGV[3] or ARGV[4])
  and not (every > 0 and math.floor(now / every) > math.floor(born / every)) then
  return {'young'}
end
local first, last, window, count, full = nil, cursor, nil, 0, false
-- Read about as much as fits: wide entries by the hundred would take seconds and gigabytes.
local width = math.max(#oldest[2][2], waiting_bytes / math.max(waiting, 1), 1)
local most = oldest[2][1] == 'f' and 256 or 2000
repeat
  local chunk = math.max(1, math.min(most, math.floor((tonumber(ARGV[5]) - bytes) / width)))
  local entries = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', chunk)
  for _, entry in ipairs(entries) do
    local at = every > 0 and math.floor(milliseconds(entry[1]) / every) or 0
    if first and at ~= window then full = true break end
    local size = 0
    for i = 2, #entry[2], 2 do size = size + #entry[2][i] end
    if first and bytes + size > tonumber(ARGV[5]) then full = true break end
    if not first then first, window = entry[1], at end
    if entry[2][1] == 'f' then frames = frames + 1 else singles = singles + 1 end
    last, count, bytes = entry[1], count + 1, bytes + size
    if frames / tonumber(ARGV[3]) + singles / tonumber(ARGV[4]) >= 1 then full = true break end
  end
  width, most = math.max(width, bytes / count), frames == 0 and 2000 or 256
until full or #entries < chunk
if not full and every > 0 and math.floor(now / every) > window then full = true end
if not full and now - milliseconds(first) < tonumber(ARGV[6]) then return {'young'} end
local seq = redis.call('HINCRBY', KEYS[2], 'seq', 1)
redis.call('HSET', KEYS[2], 'id', last)
redis.call('HINCRBY', KEYS[2], 'entries', count)
redis.call('HINCRBY', KEYS[2], 'bytes', bytes)
redis.call('HSET', KEYS[3], seq, string.format('%s %s %d %.0f %s 1 %.0f %.0f outstanding',
  first, last, count, bytes, ARGV[1], now, every > 0 and window * every or 0))
return {'cut', seq}
