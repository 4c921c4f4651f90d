#include <CLI/CLI.hpp>
#include <memory>

#include "cli/audit_verbs.h"
#include "cli/callback_verbs.h"
#include "cli/command_tree.h"
#include "cli/options.h"

namespace baton::cli {
namespace {

void addAuditList(CLI::App& audit, CommandTree& tree) {
  CLI::App* verb = audit.add_subcommand("list", "List who ordered what, the newest first");
  auto options = std::make_shared<AuditListOptions>();
  verb->add_option(
      "--kind", options->kind,
      "About task, run, flow, event, missed, host, limit, calendar, param or callback");
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
  addPageOptions(*verb, options->pages, true);
  verb->footer(
      "Examples:\n  baton audit list --since 24h\n"
      "  baton audit list --kind run --object 12 -o json\n"
      "  baton audit list --action flow.apply --all");
  verb->callback([&tree, options] {
    setClientAction(tree, [options](Session& session) { return auditList(session, *options); });
  });
}

void addCallbackList(CLI::App& callback, CommandTree& tree) {
  CLI::App* verb =
      callback.add_subcommand("list", "List callbacks that were given up, the newest first");
  auto pages = std::make_shared<PageOptions>();
  addPageOptions(*verb, *pages, false, 100);
  verb->footer("Example:\n  baton callback list -n 10");
  verb->callback([&tree, pages] {
    setClientAction(tree, [pages](Session& session) { return callbackList(session, *pages); });
  });
}

void addCallbackResend(CLI::App& callback, CommandTree& tree) {
  CLI::App* verb = callback.add_subcommand("resend", "Send callbacks again that were given up");
  auto ids = std::make_shared<std::vector<std::string>>();
  auto all = std::make_shared<bool>(false);
  verb->add_option("ID", *ids, "As `callback list` shows them");
  verb->add_flag("--all", *all, "All that were given up by now");
  verb->footer(
      "Each is tried as often as a new one, with the Delivery-Id that it had.\n\n"
      "Examples:\n  baton callback resend 17 19\n  baton callback resend --all");
  verb->callback([&tree, ids, all] {
    setClientAction(tree,
                    [ids, all](Session& session) { return callbackResend(session, *ids, *all); });
  });
}

}  // namespace

void addActivityCommands(CLI::App& app, CommandTree& tree) {
  CLI::App* audit = app.add_subcommand("audit", "See who ordered what");
  audit->require_subcommand(1);
  addAuditList(*audit, tree);
  CLI::App* callback =
      app.add_subcommand("callback", "See callbacks that were given up, send them again");
  callback->require_subcommand(1);
  addCallbackList(*callback, tree);
  addCallbackResend(*callback, tree);
}

}  // namespace baton::cli
