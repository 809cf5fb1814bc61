-- REISSUE: begin the next attempt at an overdue range, or quarantine it after the last one; `retry` starts again.
local ranges, meta = KEYS[1], KEYS[2]
local seq, nonce, attempt_seen, attempts = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local overdue_ms, retry = tonumber(ARGV[5]), ARGV[6] == '1'

local range = redis.call('HGET', ranges, seq)
if not range then return {'gone'} end
local words = {}
for word in string.gmatch(range, '%S+') do words[#words + 1] = word end
local NONCE, ATTEMPT, TIME, STATE = 5, 6, 7, 9 -- positions in a range's record
if words[NONCE] ~= nonce or words[ATTEMPT] ~= attempt_seen then return {'stale'} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local attempt = tonumber(words[ATTEMPT])
if retry then
  attempt, words[STATE] = 0, 'outstanding'
elseif words[STATE] == 'quarantined' then
  return {'quarantined'}
elseif now >= tonumber(words[TIME]) and now - tonumber(words[TIME]) < overdue_ms then
  return {'leased'} -- if the clock went back, the age is unknown, and the range is overdue
end
local answer = 'reissued'
if attempt >= attempts then
  words[STATE], answer = 'quarantined', 'quarantined'
  redis.call('HINCRBY', meta, 'quarantines', 1)
else
  attempt = attempt + 1
  redis.call('HINCRBY', meta, 'reissues', 1)
end
words[ATTEMPT], words[TIME] = string.format('%d', attempt), string.format('%.0f', now)
redis.call('HSET', ranges, seq, table.concat(words, ' '))
return {answer, attempt}
