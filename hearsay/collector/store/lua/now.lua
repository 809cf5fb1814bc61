-- NOW: the server's clock and the observed time, in milliseconds.
local meta = KEYS[1]

local time = redis.call('TIME')
return {string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)),
  redis.call('HGET', meta, 'observed_ms') or '0'}
