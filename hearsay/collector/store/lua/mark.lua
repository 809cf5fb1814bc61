-- MARK: let a field count for a while, and forget those whose time is up. A script, since it must run at maxmemory too.
local marks, field, ttl_ms, words = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HGETALL', marks)
for i = 1, #held, 2 do
  if (tonumber(string.match(held[i + 1], '^(%d+)')) or 0) <= now then redis.call('HDEL', marks, held[i]) end
end
redis.call('HSET', marks, field, string.format('%.0f %s', now + ttl_ms, words))
return 1
