#include "worker/shepherd_client.h"

#include "common/base/log.h"

namespace baton::worker {

Status ShepherdClient::connect(int dir_fd) {
  ASSIGN_OR_RETURN(FileDescriptor socket, connectToShepherd(dir_fd));
  ASSIGN_OR_RETURN(
      link_, ShepherdLink::create(loop_, std::move(socket),
                                  {.on_line = [this](const std::string& line) { onLine(line); },
                                   .on_ended =
                                       [this] {
                                         link_.reset();
                                         hooks_.on_lost();
                                       }}));
  send(HelloRequest{.version = BATON_VERSION});
  return {};
}

void ShepherdClient::send(const ShepherdRequest& request) {
  if (link_ != nullptr) link_->send(toLine(request));
}

void ShepherdClient::disconnect() { link_.reset(); }

void ShepherdClient::onLine(const std::string& line) {
  auto note = parseShepherdNote(line);
  if (!note.ok()) {
    logError("shepherd_bad_note", field("error", note.error().text()));
    return;
  }
  hooks_.on_note(std::move(*note));
}

}  // namespace baton::worker
