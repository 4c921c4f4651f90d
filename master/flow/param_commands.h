#pragma once

#include <string>
#include <vector>

#include "master/api/flow_ports.h"
#include "master/flow/flow_state.h"
#include "master/state/operation.h"
#include "master/term_context.h"

namespace baton::master {

// What people ask of the parameters of the project. A run has the values that were in force when it
// was made, so a change needs nothing but its row. Dispatcher thread only.
class ParamCommands {
 public:
  // Both outlive this.
  ParamCommands(TermContext& context, FlowState& flows) : context_(context), flows_(flows) {}

  // A value that is set already changes nothing, whatever if_version says.
  // Errors: InvalidArgument (name, value), TooLarge (all together have over 128 KB), Conflict
  // (if_version; field "version").
  void set(const api::ParamSet& request, const api::Callback<api::ParamIsSet>& done);
  // Definitions that nobody has needed since the takeover and that name the parameter were read
  // before (ActiveTerm does). Errors: NotFound, Conflict (flows need it; names some).
  void remove(const std::string& name, const api::Request& request,
              const api::Callback<ParamRecord>& done);

  void open() { open_ = true; }
  void close() { open_ = false; }

 private:
  Status admissible() const;
  Status checkRoom(const api::ParamSet& request) const;
  Result<api::ParamIsSet> set(Operation& operation, const api::ParamSet& request);
  Result<ParamRecord> remove(Operation& operation, const std::string& name,
                             const std::string& principal);
  // The names of the flows, online or not, whose newest versions need it, in order.
  std::vector<std::string> usersOf(const std::string& name) const;

  TermContext& context_;
  FlowState& flows_;
  bool open_ = false;
};

}  // namespace baton::master
