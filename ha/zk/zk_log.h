#pragma once

namespace baton::ha {

// Log callback of the C client: passes at most ten lines a second on to our log as WARN, and
// counts the rest. A failing resolver makes the client log some 20 000 lines a second.
void zkLogLine(const char* message);

}  // namespace baton::ha
