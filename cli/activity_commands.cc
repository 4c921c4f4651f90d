#include <CLI/CLI.hpp>
#include <memory>

#include "cli/audit_verbs.h"
#include "cli/command_tree.h"
#include "cli/options.h"

namespace baton::cli {
namespace {

void addAuditList(CLI::App& audit, CommandTree& tree) {
  CLI::App* verb = audit.add_subcommand("list", "List who ordered what, the newest first");
  auto options = std::make_shared<AuditListOptions>();
  verb->add_option("--kind", options->kind,
                   "About task, run, flow, event, missed, host, limit or calendar");
  verb->add_option("--action", options->action, "Such as task.stop or flow.apply");
  verb->add_option("--object", options->object,
                   "Id of a task or run; name of a flow, event, host or calendar; \"group NAME\"");
  verb->add_option("--principal", options->principal, "Who asked");
  verb->add_option("--request-id", options->request_id, "X-Request-Id of one request");
  verb->add_flag("--refused", options->refused, "Only what the state did not allow");
  verb->add_option("--since", options->since,
                   "Decided at this time or later; an age (2h) or a "
                   "time");
  verb->add_option("--before", options->before, "Decided before this; an age or a time");
  addPageOptions(*verb, options->pages, false);
  verb->footer(
      "Examples:\n  baton audit list --since 24h\n"
      "  baton audit list --kind run --object 12 -o json\n"
      "  baton audit list --action flow.apply --all");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return auditList(session, *options); });
  });
}

}  // namespace

void addActivityCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* audit = app.add_subcommand("audit", "See who ordered what");
  audit->require_subcommand(1);
  addAuditList(*audit, tree);
}

}  // namespace baton::cli
