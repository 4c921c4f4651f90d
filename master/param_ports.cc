#include "master/param_ports.h"

#include <algorithm>

#include "master/answered_once.h"

namespace baton::master {

void ParamPorts::set(api::ParamSet request, api::Callback<api::ParamIsSet> done) {
  done = answeredOnce<api::ParamIsSet>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->setParam(std::move(request), std::move(done));
}

void ParamPorts::remove(std::string name, api::Request request, api::Callback<ParamRecord> done) {
  done = answeredOnce<ParamRecord>(std::move(done));
  const auto term = master_.activeTerm();
  if (!term.ok()) return done(term.error());
  (*term)->removeParam(std::move(name), std::move(request), std::move(done));
}

Result<ParamRecord> ParamPorts::param(const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<ParamRecord> all, params());
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const ParamRecord& param) { return param.name == name; });
  if (it != all.end()) return std::move(*it);
  return Error::notFound("there is no parameter {} of the project", truncateUtf8(name, 64));
}

Result<std::vector<ParamRecord>> ParamPorts::params() {
  RETURN_IF_ERROR(master_.activeTerm().status());
  return readers_.with([](dao::Reader& reader) { return reader.params(false); });
}

}  // namespace baton::master
