-- SHOW: store a snapshot's JSON, if it is newer than the stored one. Versions are below 2^53, exact in Lua.
local snapshot, meta, places = KEYS[1], KEYS[2], KEYS[3]
local version, document, directory = tonumber(ARGV[1]), ARGV[2], ARGV[3] -- directory: of its files; '': none

if redis.call('HEXISTS', meta, 'open') == 0 then return 0 end -- the survey was deleted
if directory ~= '' then redis.call('SADD', places, directory) end
local stored_version = redis.call('HGET', snapshot, 'version')
if stored_version and tonumber(stored_version) >= version then return 0 end
redis.call('HSET', snapshot, 'version', string.format('%.0f', version), 'json', document)
return 1
