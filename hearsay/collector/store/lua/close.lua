-- CLOSE: stop a survey, skip its backlog, or skip one range; every boundary is recorded for a reference fold.
-- KEYS stream cursor ranges meta skipped counters windows
-- ARGV what (survey | backlog | range), seq, window
if redis.call('HEXISTS', KEYS[4], 'open') == 0 then return {'gone', 0} end -- the survey was deleted
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local cursor = redis.call('HGET', KEYS[2], 'id') or '0-0'
local last = newest[1] and newest[1][1] or cursor
if ARGV[1] == 'survey' then
  redis.call('HSET', KEYS[4], 'open', '0', 'closed_at', last, 'closed_time', now)
  return {'ok', last}
elseif ARGV[1] == 'backlog' then
  local entries = tonumber(redis.call('HGET', KEYS[4], 'entries_in') or '0')
    - tonumber(redis.call('HGET', KEYS[2], 'entries') or '0')
  if entries <= 0 then return {'empty', 0} end
  redis.call('RPUSH', KEYS[5], '(' .. cursor .. ' ' .. last .. ' ' .. entries .. ' backlog ' .. now)
  redis.call('HSET', KEYS[2], 'id', last)
  redis.call('HINCRBY', KEYS[2], 'entries', entries)
  redis.call('HINCRBY', KEYS[6], 'rejected:skipped:entries', entries)
  redis.call('SADD', KEYS[7], ARGV[3])
  local published = tonumber(redis.call('HGET', KEYS[4], 'bytes_in') or '0')
  local bytes = published - tonumber(redis.call('HGET', KEYS[2], 'bytes') or '0')
  redis.call('HINCRBY', KEYS[2], 'bytes', bytes)
  redis.call('HINCRBY', KEYS[4], 'bytes_out', bytes)
  return {'ok', entries}
end
local range = redis.call('HGET', KEYS[3], ARGV[2])
if not range then return {'gone', 0} end
local words = {}
for word in string.gmatch(range, '%S+') do words[#words + 1] = word end
redis.call('HDEL', KEYS[3], ARGV[2])
redis.call('RPUSH', KEYS[5], words[1] .. ' ' .. words[2] .. ' ' .. words[3] .. ' range ' .. now)
redis.call('HINCRBY', KEYS[4], 'bytes_out', words[4])
redis.call('HINCRBY', KEYS[6], 'rejected:skipped:entries', words[3])
redis.call('SADD', KEYS[7], ARGV[3])
return {'ok', tonumber(words[3])}
