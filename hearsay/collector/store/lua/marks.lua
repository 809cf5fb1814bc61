-- MARKS: all fields that count for a while, after the server's clock. Reads only.
local marks = KEYS[1]

local time = redis.call('TIME')
local held = redis.call('HGETALL', marks)
table.insert(held, 1, string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
return held
