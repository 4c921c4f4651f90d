// The limits of MasterPorts.
#include "master/answered_once.h"
#include "master/master_ports.h"

namespace baton::master {

void MasterPorts::changeLimit(api::LimitChange change, api::Callback<api::LimitView> done) {
  done = answeredOnce<api::LimitView>(std::move(done));
  const auto term = activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->changeLimit(std::move(change), std::move(done));
}

Result<std::vector<api::LimitView>> MasterPorts::limits(LimitKind kind) {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  const auto views = std::make_shared<std::vector<api::LimitView>>();
  if (!term->inspect([term, kind, views] { *views = term->limits().views(kind); })) {
    return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
  }
  return *views;
}

Result<api::LimitView> MasterPorts::limit(LimitKind kind, const std::string& name) {
  ASSIGN_OR_RETURN(const auto term, activeTerm());
  const auto view = std::make_shared<Result<api::LimitView>>(api::LimitView{});
  if (!term->inspect([term, kind, name, view] { *view = term->limits().view(kind, name); })) {
    return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
  }
  return *view;
}

}  // namespace baton::master
