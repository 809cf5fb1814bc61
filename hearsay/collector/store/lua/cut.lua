-- CUT: the next entries after the cursor become a range, within one window or round, when full or old enough.
local stream, cursor, ranges, deltas, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local rounds, marks, published = KEYS[6], KEYS[7], KEYS[8]
local nonce, every = ARGV[1], tonumber(ARGV[2]) -- every: milliseconds of a window; 0: windows have no times
local max_frames, max_singles, max_bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local age_ms, max_deltas, max_delta_bytes = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])

if redis.call('HLEN', deltas) >= max_deltas
  or tonumber(redis.call('HGET', meta, 'delta_bytes') or '0') >= max_delta_bytes then
  return {'deltas'}
end
-- The survey was deleted: nothing may be written.
if redis.call('HEXISTS', meta, 'open') == 0 then return {'empty'} end
-- Up to version 0.2.0 these totals were in meta.
if redis.call('HEXISTS', meta, 'entries_in') == 1 then
  for _, name in ipairs({'entries_in', 'reports_in', 'bytes_in'}) do
    redis.call('HINCRBY', published, name, redis.call('HGET', meta, name) or '0')
    redis.call('HDEL', meta, name)
  end
end
local function milliseconds(id) return tonumber(string.match(id, '^(%d+)')) end
local function is_after(id, other)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= other_ms then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(number) > tonumber(other_number)
end
local function parse(text)
  local first, last, frames, singles, bytes, time = string.match(text, '^(%S+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
  return {first = first, last = last, frames = tonumber(frames), singles = tonumber(singles),
    bytes = tonumber(bytes), time = tonumber(time)}
end
-- The bytes of an entry, and whether it is a frame. It may have other fields, such as the round.
local function weigh(fields)
  local size, frame = 0, false
  for i = 1, #fields, 2 do
    if fields[i] == 'f' then frame = true end
    if fields[i] ~= 'k' then size = size + #fields[i + 1] end
  end
  return size, frame
end
local at_cursor = redis.call('HMGET', cursor, 'id', 'entries', 'bytes')
local last = at_cursor[1] or '0-0'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The oldest waiting entry: of a batch, by its mark, or an entry without a mark, which was appended by hand.
local head = redis.call('LINDEX', marks, 0)
head = head and parse(head)
local stray = redis.call('XRANGE', stream, '(' .. last, head and '(' .. head.first or '+', 'COUNT', 1)[1]
if not head and not stray then return {'empty'} end
local oldest_id = stray and stray[1] or head.first
local oldest_ms = stray and milliseconds(stray[1]) or head.time
local framed = head and head.frames > 0
if stray then
  local _
  _, framed = weigh(stray[2])
end
-- The round of an entry depends on its id, not on its field k: the first round that was not closed before it.
local round, until_id = 0, nil
local newest_round = tonumber(redis.call('HGET', rounds, 'number') or '0')
if newest_round > 0 then
  round = newest_round + 1
  for number = newest_round, 1, -1 do
    local closed = redis.call('HGET', rounds, 'closed:' .. number)
    if closed and is_after(oldest_id, closed) then break end
    round, until_id = number, closed
  end
end
local function window_at(ms) return every > 0 and math.floor(ms / every) or 0 end
-- Most calls meet a few young entries, which the totals show. If the clock went back, no entry counts as young.
local young = now >= oldest_ms and now - oldest_ms < age_ms
local totals = redis.call('HMGET', published, 'entries_in', 'bytes_in')
local waiting = tonumber(totals[1] or '0') - tonumber(at_cursor[2] or '0')
local waiting_bytes = tonumber(totals[2] or '0') - tonumber(at_cursor[3] or '0')
if young and waiting_bytes < max_bytes and waiting < (framed and max_frames or max_singles)
  and not until_id and window_at(now) <= window_at(oldest_ms) then
  return {'young'}
end

local first, window, frames, singles, bytes, count = nil, nil, 0, 0, 0, 0
local stray_count, stray_bytes, full = 0, 0, false
local function fits(entry_window, more_frames, more_singles, more_bytes)
  return entry_window == window and bytes + more_bytes <= max_bytes
    and (frames + more_frames) / max_frames + (singles + more_singles) / max_singles <= 1
end
local function take(first_id, last_id, entry_window, more_frames, more_singles, more_bytes)
  if not first then first, window = first_id, entry_window end
  last, count = last_id, count + more_frames + more_singles
  frames, singles, bytes = frames + more_frames, singles + more_singles, bytes + more_bytes
  full = frames / max_frames + singles / max_singles >= 1 or bytes >= max_bytes
end
-- Take entries one by one up to `upper`: those without a mark, and those of a batch that is larger than a range.
local CHUNK = 64
local function read(upper, batch)
  repeat
    local entries = redis.call('XRANGE', stream, '(' .. last, upper, 'COUNT', CHUNK)
    for _, entry in ipairs(entries) do
      local size, frame = weigh(entry[2])
      local entry_window = window_at(batch and batch.time or milliseconds(entry[1]))
      local more_frames, more_singles = frame and 1 or 0, frame and 0 or 1
      if first and not fits(entry_window, more_frames, more_singles, size) then full = true return end
      take(entry[1], entry[1], entry_window, more_frames, more_singles, size)
      if batch then
        batch.frames, batch.singles = batch.frames - more_frames, batch.singles - more_singles
        batch.bytes = batch.bytes - size
      else
        stray_count, stray_bytes = stray_count + 1, stray_bytes + size
      end
      if full then return end
    end
  until #entries < CHUNK
end
local taken, rest, PAGE = 0, nil, 256
local page, at = {}, 1
while not full do
  if at > #page then page, at = redis.call('LRANGE', marks, taken, taken + PAGE - 1), 1 end
  local mark = page[at] and parse(page[at])
  if mark and until_id and is_after(mark.first, until_id) then mark = nil end
  local upper = mark and '(' .. mark.first or until_id or '+'
  -- Between two batches there are only entries that were appended by hand: this mostly reads nothing.
  if redis.call('XRANGE', stream, '(' .. last, upper, 'COUNT', 1)[1] then read(upper, nil) end
  if full or not mark then break end
  local mark_window = window_at(mark.time)
  if not first or fits(mark_window, mark.frames, mark.singles, mark.bytes) then
    if first or (mark.bytes <= max_bytes and mark.frames / max_frames + mark.singles / max_singles <= 1) then
      take(mark.first, mark.last, mark_window, mark.frames, mark.singles, mark.bytes)
    else
      read(mark.last, mark)
      local left = redis.call('XRANGE', stream, '(' .. last, mark.last, 'COUNT', 1)[1]
      if first and left then
        rest = string.format('%s %s %d %d %.0f %.0f', left[1], mark.last, mark.frames, mark.singles, mark.bytes,
          mark.time)
        break
      end
      -- All entries of the batch were deleted by hand: the range cannot be folded, and will be quarantined.
      if not first then take(mark.first, mark.last, mark_window, mark.frames, mark.singles, mark.bytes) end
    end
    taken, at = taken + 1, at + 1
  else
    full = true
  end
end
if not full and (until_id or window_at(now) > window) then full = true end
if not full and young then return {'young'} end
redis.call('LTRIM', marks, taken, -1)
if rest then redis.call('LSET', marks, 0, rest) end
redis.call('HINCRBY', published, 'entries_in', stray_count)
redis.call('HINCRBY', published, 'bytes_in', string.format('%.0f', stray_bytes))
local seq = redis.call('HINCRBY', cursor, 'seq', 1)
redis.call('HSET', cursor, 'id', last)
redis.call('HINCRBY', cursor, 'entries', count)
redis.call('HINCRBY', cursor, 'bytes', string.format('%.0f', bytes))
local number = newest_round > 0 and round or window * every
local record = string.format('%s %s %d %.0f %s 1 %.0f %.0f outstanding',
  first, last, count, bytes, nonce, now, number)
redis.call('HSET', ranges, seq, record)
return {'cut', seq, record}
