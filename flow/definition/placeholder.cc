#include "flow/definition/placeholder.h"

#include <algorithm>

#include "common/base/json.h"
#include "common/model/task_spec.h"

namespace baton::flow {
namespace {

constexpr size_t kStepsMax = 10'000;
constexpr size_t kDepthMax = 64;  // Of parameters within parameters.
constexpr size_t kUpstream = static_cast<size_t>(ParamLevel::Upstream);

constexpr bool mayHoldPlaceholders(ParamLevel level) {
  return level == ParamLevel::Task || level == ParamLevel::Flow;
}

// Resolves one text; remembers which values it is inside of, to end what refers to itself.
class Resolver {
 public:
  explicit Resolver(const PlaceholderContext& context) : context_(context) {}

  Result<std::string> text(std::string_view source) {
    ASSIGN_OR_RETURN(const std::vector<TextPart> parts, parsePlaceholders(source));
    std::string out;
    for (const TextPart& part : parts) {
      auto value = valueOf(part);
      if (!value.ok()) return value.error();
      out += *value;
      if (out.size() > kParamsBytesMax) {
        return Error::invalidArgument("resolves to over {} bytes", kParamsBytesMax);
      }
    }
    return out;
  }

  Result<std::optional<std::string>> param(const std::string& name) {
    if (++steps_ > kStepsMax) {
      return Error::invalidArgument("needs over {} steps to resolve", kStepsMax);
    }
    bool inside_itself = false;
    for (size_t level = 0; level < kParamLevelCount; ++level) {
      const ParamMap* params = context_.params[level];
      if (params == nullptr || (level == kUpstream && inside_weaker_ > 0)) continue;
      const auto it = params->find(name);
      if (it == params->end()) continue;
      if (std::find(inside_.begin(), inside_.end(), &*it) != inside_.end()) {
        inside_itself = true;
        continue;
      }
      if (!it->second || !mayHoldPlaceholders(static_cast<ParamLevel>(level))) return it->second;
      if (inside_.size() >= kDepthMax) {
        return Error::invalidArgument("parameter {} is over {} others deep", name, kDepthMax);
      }
      inside_.push_back(&*it);
      inside_weaker_ += level > kUpstream ? 1 : 0;
      auto value = text(*it->second);
      inside_weaker_ -= level > kUpstream ? 1 : 0;
      inside_.pop_back();
      if (!value.ok()) return value.error();
      return std::optional<std::string>(std::move(value).value());
    }
    if (inside_itself) return Error::invalidArgument("parameter {} refers to itself", name);
    return Error::invalidArgument("no parameter has the name {}", name);
  }

 private:
  Result<std::string> valueOf(const TextPart& part) {
    switch (part.kind) {
      case TextPart::Kind::Literal:
        return part.text;
      case TextPart::Kind::Date:
        return dateOf(part.date);
      case TextPart::Kind::Output:
        return outputOf(part);
      case TextPart::Kind::Name:
        break;
    }
    if (part.text == "flow") return context_.flow;
    if (part.text == "run_id") return context_.run_id;
    if (part.text == "task") return context_.task;
    auto value = param(part.text);
    if (!value.ok()) return value.error();
    return value->value_or("");
  }

  Result<std::string> dateOf(const DateText& date) const {
    WallTime base = context_.plan_time;
    if (date.base == DateText::Base::PrevSuccessTime) {
      if (!context_.prev_success_time) return std::string();
      base = *context_.prev_success_time;
    }
    if (date.steps.empty()) return formatDate(date.format, base, context_.zone);
    ASSIGN_OR_RETURN(const CivilTime shifted, addSteps(context_.zone.civilAt(base), date.steps));
    const WallTime instant = instantOf(shifted, context_.zone, context_.zone.offsetAt(base));
    return formatDate(date.format, instant, context_.zone);
  }

  Result<std::string> outputOf(const TextPart& part) const {
    const auto wrong = [&](std::string_view why) {
      return Error::invalidArgument("{}: {}", part.source, why);
    };
    if (context_.outputs == nullptr) return wrong("no outputs are known here");
    const auto task = context_.outputs->find(part.text);
    if (task == context_.outputs->end()) return wrong("no upstream task of that name has outputs");
    const auto value = task->second.find(part.key);
    if (value != task->second.end()) return value->second;
    if (context_.output_notes != nullptr) {
      const auto note = context_.output_notes->find(part.text);
      if (note != context_.output_notes->end()) {
        return wrong(fmt::format("that output is not there ({})", note->second));
      }
    }
    return wrong("the task did not write that output");
  }

  const PlaceholderContext& context_;
  std::vector<const ParamMap::value_type*> inside_;
  int inside_weaker_ = 0;  // How many of those are weaker than Upstream.
  size_t steps_ = 0;
};

}  // namespace

Result<std::string> resolveText(std::string_view text, const PlaceholderContext& context) {
  return Resolver(context).text(text);
}

Result<std::optional<std::string>> resolveParam(const std::string& name,
                                                const PlaceholderContext& context) {
  return Resolver(context).param(name);
}

Result<ParamMap> resolveParams(const PlaceholderContext& context) {
  ParamMap out;
  size_t bytes = 0;
  for (size_t level = 0; level < kParamLevelCount; ++level) {
    if (context.params[level] == nullptr || level == kUpstream) {
      continue;
    }
    for (const auto& [name, value] : *context.params[level]) {
      if (out.find(name) != out.end()) continue;
      auto resolved = resolveParam(name, context);
      if (!resolved.ok()) return Error(resolved.error()).withField(name);
      bytes += name.size() + (*resolved ? (*resolved)->size() : 0);
      if (bytes > kTaskBytesMax) {
        return Error::invalidArgument("the parameters resolve to over {} bytes", kTaskBytesMax)
            .withField(name);
      }
      out.emplace(name, std::move(resolved).value());
    }
  }
  return out;
}

}  // namespace baton::flow
