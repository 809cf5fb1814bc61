-- MERGED: how many reports an accumulator holds. Never backwards: of two estimators the slower one may come late.
local acc = KEYS[1]
local reports = tonumber(ARGV[1])

if redis.call('HEXISTS', acc, 'version') == 0 then return 0 end -- purged or deleted in the meantime
local held = redis.call('HGET', acc, 'reports')
if held and tonumber(held) >= reports then return 0 end
redis.call('HSET', acc, 'reports', string.format('%.0f', reports))
return 1
