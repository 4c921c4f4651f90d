#pragma once

#include "master/host/runner.h"
#include "master/term_context.h"

// Whether a worker takes new tasks: what the operators' rules and its own start failures say.
// Dispatcher thread only.
namespace baton::master {

// Works out anew whether the worker takes tasks and, if not, why.
void decideStanding(const TermContext& context, Worker& worker);

// An attempt of this worker was confirmed as started.
void noteStarted(Operation& operation, const TermContext& context, Worker& worker);
// An attempt of this worker was closed. `work` is the same for what is the same work, see
// StartRecord; `unconfirmed`: it had not been reported running before.
void noteClosed(Operation& operation, const TermContext& context, Worker& worker,
                const AttemptRecord& attempt, uint64_t work, bool unconfirmed);
// A worker that is new to this term is in quarantine if its row says so.
void resumeQuarantine(const TermContext& context, Worker& worker);
// Lets old failures go and a quarantine end.
void noteTime(const TermContext& context, Worker& worker);

// One word for what it may: active, draining, drained, excluded, unapproved or outdated.
std::string_view standingOf(const Worker& worker);

}  // namespace baton::master
