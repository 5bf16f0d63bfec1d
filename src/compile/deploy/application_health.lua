local health = {status = "Progressing", message = "waiting for the first sync"}
if obj.status ~= nil and obj.status.health ~= nil then
  health.status = obj.status.health.status
  health.message = obj.status.health.message
end
return health
