-- SHOW: store a snapshot's JSON, if it is newer than the one held. Versions stay below 2^53, exact in Lua.
local snapshot, meta, places = KEYS[1], KEYS[2], KEYS[3]
local version, document, place = tonumber(ARGV[1]), ARGV[2], ARGV[3] -- place: where its files are, '' for nowhere

if redis.call('HEXISTS', meta, 'open') == 0 then return 0 end -- the survey was deleted
if place ~= '' then redis.call('SADD', places, place) end
local held = redis.call('HGET', snapshot, 'version')
if held and tonumber(held) >= version then return 0 end
redis.call('HSET', snapshot, 'version', string.format('%.0f', version), 'json', document)
return 1
