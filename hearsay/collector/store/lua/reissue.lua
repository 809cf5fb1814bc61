-- REISSUE: take the next attempt at an overdue range, or put it aside when it had its share; `retry` starts afresh.
-- KEYS ranges meta
-- ARGV seq nonce attempt_seen attempts overdue_ms retry
local range = redis.call('HGET', KEYS[1], ARGV[1])
if not range then return {'gone'} end
local words = {}
for word in string.gmatch(range, '%S+') do words[#words + 1] = word end
if words[5] ~= ARGV[2] or words[6] ~= ARGV[3] then return {'stale'} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local attempt = tonumber(words[6])
if ARGV[6] == '1' then
  attempt, words[9] = 0, 'outstanding'
elseif words[9] == 'quarantined' then
  return {'quarantined'}
elseif now - tonumber(words[7]) < tonumber(ARGV[5]) then
  return {'leased'}
end
local answer = 'reissued'
if attempt >= tonumber(ARGV[4]) then
  words[9], answer = 'quarantined', 'quarantined'
  redis.call('HINCRBY', KEYS[2], 'quarantines', 1)
else
  attempt = attempt + 1
  redis.call('HINCRBY', KEYS[2], 'reissues', 1)
end
words[6], words[7] = string.format('%d', attempt), string.format('%.0f', now)
redis.call('HSET', KEYS[1], ARGV[1], table.concat(words, ' '))
return {answer, attempt}
