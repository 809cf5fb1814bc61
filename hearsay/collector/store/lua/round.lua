-- ROUND: open the next round or close the open one, fenced by its number; a repetition changes nothing.
local rounds, meta, stream, cursor, published = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local what, number, parameters = ARGV[1], tonumber(ARGV[2]), ARGV[3] -- what: open or close

if redis.call('HEXISTS', meta, 'open') == 0 then return 'gone' end -- the survey was deleted
local fields = redis.call('HMGET', rounds, 'number', 'open')
local newest, open = tonumber(fields[1] or '0'), fields[2] == '1'
if what == 'open' then
  if newest >= number then return 'known' end
  if newest + 1 ~= number or open then return 'stale' end
  redis.call('HSET', rounds, 'number', number, 'open', '1', 'parameters:' .. number, parameters,
    'reports:' .. number, redis.call('HGET', published, 'reports_in') or '0',
    'observed_ms:' .. number, redis.call('HGET', meta, 'observed_ms') or '0')
  return 'ok'
end
if newest ~= number then return 'stale' end
if not open then return 'known' end
-- The boundary is the id of a real entry: entries after it belong to a later round, whatever their field k.
local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
redis.call('HSET', rounds, 'open', '0',
  'closed:' .. number, last and last[1] or redis.call('HGET', cursor, 'id') or '0-0')
return 'ok'
