#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace baton::conf {

// What the client verbs need to reach a cluster. Empty members were not given.
struct ClientConfig {
  std::vector<std::string> masters;  // host:port
  std::string token;
  std::string output;  // table | json | yaml
};

// Where client settings come from, the strongest first.
struct ClientSources {
  std::vector<std::string> masters;  // --masters
  std::string token_file;            // --token-file
  std::string output;                // -o
};

// The user's folder for state: $XDG_STATE_HOME/baton or ~/.local/state/baton.
std::string stateFolder();
// client.yaml as the user writes it: $XDG_CONFIG_HOME/baton/client.yaml or ~/.config/….
std::string userClientFile();
// client.yaml as `baton standalone` leaves it: in stateFolder().
std::string standaloneClientFile();

// Joins options, the environment (BATON_MASTERS, BATON_TOKEN, BATON_OUTPUT_FORMAT), the file that
// BATON_CLIENT_CONFIG names or else userClientFile(), and standaloneClientFile(), in this order.
// Masters and token of one file go together: a token never goes to masters of another file.
// Errors: InvalidArgument (a file that is wrong, no masters or no token found: says where it
// looked).
Result<ClientConfig> findClientConfig(const ClientSources& options);
// Only `output` of the same sources, for verbs that need no master.
std::string findOutputFormat(const std::string& option);

// Reads the keys masters, token_file and output of a client.yaml and the token that it points to.
// Errors: NotFound, InvalidArgument, PermissionDenied.
Result<ClientConfig> readClientFile(const std::string& path);
// Writes a client.yaml (mode 0600, parents are made). Errors: Unavailable.
Status writeClientFile(const std::string& path, const std::vector<std::string>& masters,
                       const std::string& token_file);

}  // namespace baton::conf
