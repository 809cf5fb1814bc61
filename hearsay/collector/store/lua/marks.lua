-- MARKS: the server's clock, then all fields that MARK has set and their values. Reads only.
local marks = KEYS[1]

local time = redis.call('TIME')
local stored = redis.call('HGETALL', marks)
table.insert(stored, 1, string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
return stored
