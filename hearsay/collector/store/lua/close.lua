-- CLOSE: stop a survey, skip its backlog, or skip one range; every boundary is recorded for a reference fold.
local stream, cursor, ranges, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local skipped, counters, windows, marks, published = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local what, seq, window = ARGV[1], ARGV[2], ARGV[3] -- what: survey, backlog or range

if redis.call('HEXISTS', meta, 'open') == 0 then return {'gone', 0} end -- the survey was deleted
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
local at = redis.call('HGET', cursor, 'id') or '0-0'
local last = newest[1] and newest[1][1] or at
if what == 'survey' then
  redis.call('HSET', meta, 'open', '0', 'closed_at', last, 'closed_time', now)
  return {'ok', last}
elseif what == 'backlog' then
  local entries = tonumber(redis.call('HGET', published, 'entries_in') or '0')
    - tonumber(redis.call('HGET', cursor, 'entries') or '0')
  if entries <= 0 then return {'empty', 0} end
  redis.call('RPUSH', skipped, '(' .. at .. ' ' .. last .. ' ' .. entries .. ' backlog ' .. now)
  redis.call('HSET', cursor, 'id', last)
  redis.call('DEL', marks)
  redis.call('HINCRBY', cursor, 'entries', entries)
  redis.call('HINCRBY', counters, 'rejected:skipped:entries', entries)
  redis.call('SADD', windows, window)
  local bytes = tonumber(redis.call('HGET', published, 'bytes_in') or '0')
    - tonumber(redis.call('HGET', cursor, 'bytes') or '0')
  redis.call('HINCRBY', cursor, 'bytes', bytes)
  redis.call('HINCRBY', meta, 'bytes_out', bytes)
  return {'ok', entries}
end
local range = redis.call('HGET', ranges, seq)
if not range then return {'gone', 0} end
local first, final, entries, bytes = string.match(range, '^(%S+) (%S+) (%S+) (%S+)')
redis.call('HDEL', ranges, seq)
redis.call('RPUSH', skipped, first .. ' ' .. final .. ' ' .. entries .. ' range ' .. now)
redis.call('HINCRBY', meta, 'bytes_out', bytes)
redis.call('HINCRBY', counters, 'rejected:skipped:entries', entries)
redis.call('SADD', windows, window)
return {'ok', tonumber(entries)}
