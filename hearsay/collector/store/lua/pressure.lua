-- PRESSURE: set or remove the back-pressure of a cause that PUBLISH cannot see by itself.
local meta = KEYS[1]
local cause, ttl_ms = ARGV[1], ARGV[2] -- cause '': none

if redis.call('HEXISTS', meta, 'open') == 0 then return 0 end -- the survey was deleted
if cause == '' then return redis.call('HDEL', meta, 'pressure', 'pressure_at', 'pressure_ttl_ms') end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', meta, 'pressure', cause, 'pressure_at', now, 'pressure_ttl_ms', ttl_ms)
return 1
