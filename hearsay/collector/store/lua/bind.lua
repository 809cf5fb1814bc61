-- BIND: put a survey's registration in the place of the one that was read; a change by somebody else comes first.
local surveys = KEYS[1]
local name, before, record = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', surveys, name) ~= before then return 0 end
redis.call('HSET', surveys, name, record)
return 1
