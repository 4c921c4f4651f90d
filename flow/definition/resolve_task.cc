#include "flow/definition/resolve_task.h"

#include "common/model/event_rules.h"

namespace baton::flow {
namespace {

// Resolves texts in place; the first error is kept, with its place.
class TextResolver {
 public:
  TextResolver(const PlaceholderContext& context, const ParamMap& params) : context_(context) {
    for (const auto& [name, value] : params) bytes_ += name.size() + (value ? value->size() : 0);
  }

  void resolve(const std::string& path, std::string& text) {
    if (error_) return;
    if (text.find('$') != text.npos) {
      auto value = resolveText(text, context_);
      if (!value.ok()) {
        error_ = Error(value.error()).withField(path);
        return;
      }
      text = std::move(value).value();
    }
    bytes_ += text.size();
    if (bytes_ <= kTaskBytesMax) return;
    error_ = Error::invalidArgument("the texts of the task resolve to over {} bytes", kTaskBytesMax)
                 .withField(path);
  }
  void resolve(const std::string& path, std::map<std::string, std::string>& texts) {
    for (auto& [name, text] : texts) resolve(path + "." + name, text);
  }
  void resolve(const std::string& path, Json& json) {
    if (json.is_string()) {
      resolve(path, json.get_ref<std::string&>());
    } else if (json.is_array()) {
      for (size_t i = 0; i < json.size(); ++i) resolve(fmt::format("{}[{}]", path, i), json[i]);
    } else if (json.is_object()) {
      for (auto& [key, value] : json.items()) resolve(path + "." + key, value);
    }
  }
  Status status() const { return error_ ? Status(*error_) : Status(); }

 private:
  const PlaceholderContext& context_;
  size_t bytes_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<TaskNode> resolveTask(const TaskNode& node, PlaceholderContext context) {
  TaskNode task = node;
  context.task = node.name;
  context.at(ParamLevel::Task) = &node.params;
  auto params = resolveParams(context);
  if (!params.ok()) {
    return Error(params.error().code(), params.error().message(),
                 "params." + params.error().field());
  }
  task.params = std::move(params).value();
  TextResolver texts(context, task.params);
  for (size_t i = 0; i < task.command.size(); ++i) {
    texts.resolve(fmt::format("command[{}]", i), task.command[i]);
  }
  texts.resolve("env", task.env);
  texts.resolve("dir", task.dir);
  texts.resolve("http.url", task.http.url);
  texts.resolve("http.headers", task.http.headers);
  texts.resolve("http.body", task.http.body);
  texts.resolve("event.key", task.event.key);
  texts.resolve("with", task.with);
  RETURN_IF_ERROR(texts.status());
  if (!node.dir.empty() && !task.dir.starts_with('/')) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("is \"{}\", expected an absolute path", truncateUtf8(task.dir, 140)),
                 "dir");
  }
  if (task.event.by_key && !isEventKey(task.event.key)) {
    // One that no event can have would wait for ever.
    return Error(ErrorCode::InvalidArgument, eventKeyFault(task.event.key), "event.key");
  }
  return task;
}

Result<TaskSpec> taskSpecOf(const TaskNode& resolved, const PlaceholderContext& context) {
  if (!resolved.hasRunner()) {
    return Error(ErrorCode::Unsupported,
                 fmt::format("a task of kind {} takes no runner", resolved.kind), "kind");
  }
  if (!resolved.unsupported.empty()) {
    return Error(ErrorCode::Unsupported, "is not supported by this version of baton",
                 resolved.unsupported);
  }
  TaskSpec spec;
  spec.name = resolved.name;
  spec.kind = resolved.kind;
  spec.command = resolved.command;
  spec.script = resolved.script;
  spec.interpreter = resolved.interpreter;
  if (resolved.kind == "http") {
    // Checked as written; what the placeholders made of it is another text.
    const auto faults = httpFaults(resolved.http);
    if (!faults.empty()) {
      const Error& first = faults.front();
      return Error(ErrorCode::InvalidArgument, first.message(), "http." + first.field());
    }
    spec.http = resolved.http;
  }
  RETURN_IF_ERROR(checkWith(resolved.with));
  spec.with = resolved.with;
  spec.env = resolved.env;
  spec.env["BATON_FLOW"] = context.flow;
  spec.env["BATON_RUN_ID"] = context.run_id;
  spec.env["BATON_PLAN_TIME"] = formatRfc3339(context.plan_time, context.zone);
  if (context.prev_success_time) {
    spec.env["BATON_PREV_SUCCESS_TIME"] = formatRfc3339(*context.prev_success_time, context.zone);
  }
  for (const auto& [name, value] : resolved.params) {
    if (value) spec.params[name] = *value;
  }
  spec.dir = resolved.dir;
  spec.priority = resolved.priority.value_or(Priority::Normal);
  spec.hold = resolved.hold;
  spec.tags = resolved.tags;
  spec.policy = resolved.policy;
  return spec;
}

}  // namespace baton::flow
