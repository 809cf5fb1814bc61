-- STAGE: store a chunk or a part that expires unless MERGE or COMMIT keeps it. A script: it must run at maxmemory too.
local name = KEYS[1]
local content, ttl_s = ARGV[1], ARGV[2]

redis.call('SET', name, content, 'EX', ttl_s)
return 1
