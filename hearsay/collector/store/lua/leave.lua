-- LEAVE: a writer has ended; delete its number soon, but not at once: a late copy of its last batch may come.
local writers, meta = KEYS[1], KEYS[2]
local writer, soon_ms = ARGV[1], tonumber(ARGV[2])

local known = redis.call('HGET', writers, writer)
if not known then return 0 end
local times = redis.call('HMGET', meta, 'observed_ms', 'dedup_ms')
local stamp = tonumber(times[1] or '0') - tonumber(times[2] or '0') + soon_ms
redis.call('HSET', writers, writer, string.format('%s %.0f', string.match(known, '^(%d+)'), stamp))
return 1
