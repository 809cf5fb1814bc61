-- BIND: replace the registration of a survey, unless another process has changed it since it was read.
local surveys = KEYS[1]
local name, before, record = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', surveys, name) ~= before then return 0 end
redis.call('HSET', surveys, name, record)
return 1
