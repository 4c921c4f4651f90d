#pragma once

#include <string>
#include <string_view>

#include "common/base/json.h"
#include "common/base/status.h"
#include "master/api/watch_port.h"

// Watch events as server-sent events. Names are the contract of docs/api.md.
namespace baton::webapi {

// "3-812-2": what a watcher gives back as Last-Event-ID.
std::string watchId(const master::api::WatchPosition& at);
// Errors: InvalidArgument (not a text of watchId).
Result<master::api::WatchPosition> parseWatchId(std::string_view text);

// One block of the stream: id, event and data.
std::string watchBlock(const master::api::WatchPosition& at, std::string_view event,
                       const Json& data);
std::string watchText(const master::api::WatchEvent& event);
// The same without an id: who loses the stream behind it goes on from the id before.
std::string unplacedBlock(std::string_view event, const Json& data);
std::string unplacedText(const master::api::WatchEvent& event);

}  // namespace baton::webapi
