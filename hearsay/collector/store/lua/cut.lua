-- CUT: the next entries after the cursor become a range, within one window or round, when full or old enough.
local stream, cursor, ranges, deltas, meta, rounds = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local nonce, every = ARGV[1], tonumber(ARGV[2]) -- every: a window's milliseconds; 0: time makes no windows
local max_frames, max_singles, max_bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local age_ms, max_deltas, max_delta_bytes = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])

if redis.call('HLEN', deltas) >= max_deltas
  or tonumber(redis.call('HGET', meta, 'delta_bytes') or '0') >= max_delta_bytes then
  return {'deltas'}
end
-- A deleted survey: nothing of it may come back.
if redis.call('HEXISTS', meta, 'open') == 0 then return {'empty'} end
local function parts(id)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end
local function milliseconds(id) return (parts(id)) end
local function is_after(id, other)
  local ms, number = parts(id)
  local other_ms, other_number = parts(other)
  return ms > other_ms or (ms == other_ms and number > other_number)
end
-- A frame, or a single report? Other fields, such as the round, may stand beside it.
local function is_frame(fields)
  for i = 1, #fields, 2 do
    if fields[i] == 'f' then return true end
  end
  return false
end
local frames, singles, bytes = 0, 0, 0
local at_cursor = redis.call('HMGET', cursor, 'id', 'entries', 'bytes')
local at = at_cursor[1] or '0-0'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Most calls find a few young entries: tell that from the totals and the oldest one, without reading them all.
local oldest = redis.call('XRANGE', stream, '(' .. at, '+', 'COUNT', 1)[1]
if not oldest then return {'empty'} end
-- The round of an entry is where it stands, not what it says: the first one that was not closed before it.
local round, until_id = 0, '+'
local newest_round = tonumber(redis.call('HGET', rounds, 'number') or '0')
if newest_round > 0 then
  round = newest_round
  for number = newest_round, 1, -1 do
    local closed = redis.call('HGET', rounds, 'closed:' .. number)
    if closed and is_after(oldest[1], closed) then break end
    round, until_id = number, closed or '+'
  end
  local last = redis.call('HGET', rounds, 'closed:' .. newest_round)
  if last and is_after(oldest[1], last) then round, until_id = newest_round + 1, '+' end
end
local published = redis.call('HMGET', meta, 'entries_in', 'bytes_in')
local waiting = tonumber(published[1] or '0') - tonumber(at_cursor[2] or '0')
local waiting_bytes = tonumber(published[2] or '0') - tonumber(at_cursor[3] or '0')
local born = milliseconds(oldest[1])
local oldest_is_frame = is_frame(oldest[2])
if now - born < age_ms and waiting_bytes < max_bytes
  and waiting < (oldest_is_frame and max_frames or max_singles)
  and until_id == '+' and not (every > 0 and math.floor(now / every) > math.floor(born / every)) then
  return {'young'}
end
local first, last, window, count, full = nil, at, nil, 0, false
-- Read about as much as fits: wide entries by the hundred would take seconds and gigabytes.
local width = math.max(#oldest[2][2], waiting_bytes / math.max(waiting, 1), 1)
local most = oldest_is_frame and 256 or 2000
repeat
  local chunk = math.max(1, math.min(most, math.floor((max_bytes - bytes) / width)))
  local entries = redis.call('XRANGE', stream, '(' .. last, until_id, 'COUNT', chunk)
  for _, entry in ipairs(entries) do
    local id, fields = entry[1], entry[2]
    local entry_window = every > 0 and math.floor(milliseconds(id) / every) or 0
    if first and entry_window ~= window then full = true break end
    local size = 0
    for i = 2, #fields, 2 do
      if fields[i - 1] ~= 'k' then size = size + #fields[i] end
    end
    if first and bytes + size > max_bytes then full = true break end
    if not first then first, window = id, entry_window end
    if is_frame(fields) then frames = frames + 1 else singles = singles + 1 end
    last, count, bytes = id, count + 1, bytes + size
    if frames / max_frames + singles / max_singles >= 1 then full = true break end
  end
  width, most = math.max(width, bytes / count), frames == 0 and 2000 or 256
until full or #entries < chunk
if not full and (until_id ~= '+' or (every > 0 and math.floor(now / every) > window)) then full = true end
if not full and now - milliseconds(first) < age_ms then return {'young'} end
local seq = redis.call('HINCRBY', cursor, 'seq', 1)
redis.call('HSET', cursor, 'id', last)
redis.call('HINCRBY', cursor, 'entries', count)
redis.call('HINCRBY', cursor, 'bytes', bytes)
local number = newest_round > 0 and round or every > 0 and window * every or 0
redis.call('HSET', ranges, seq, string.format('%s %s %d %.0f %s 1 %.0f %.0f outstanding',
  first, last, count, bytes, nonce, now, number))
return {'cut', seq}
