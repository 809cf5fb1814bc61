-- MARK: set a field that expires, and delete expired ones. A script, since it must run at maxmemory too.
local marks, field, ttl_ms, words = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local longest_ms = tonumber(ARGV[4])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('HGETALL', marks)
for i = 1, #stored, 2 do
  local ends, rest = string.match(stored[i + 1], '^(%d+)(.*)$')
  ends = tonumber(ends) or 0
  if ends <= now then
    redis.call('HDEL', marks, stored[i])
  elseif ends > now + longest_ms then
    -- The clock went back: live processes renew their marks, and those of dead ones must not last until it catches up.
    redis.call('HSET', marks, stored[i], string.format('%.0f', now + longest_ms) .. rest)
  end
end
redis.call('HSET', marks, field, string.format('%.0f %s', now + ttl_ms, words))
return 1
