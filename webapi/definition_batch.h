#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/base/status.h"

namespace baton::webapi {

inline constexpr size_t kBatchMax = 1'000;
inline constexpr size_t kBatchFileCharsMax = 1'024;

// The definitions of a body in which they stand together, as `member` ("flows"): each with `text`,
// `file` and `if_version`. `what` they are: "a definition". Ends the reading of the body, so its
// other members are asked for before.
template <typename Apply>
Result<std::vector<Apply>> readDefinitions(JsonReader& body, const std::string& member,
                                           std::string_view what) {
  const Json* items = body.array(member);
  if (items == nullptr && !body.has(member)) body.fail(member, "is missing");
  RETURN_IF_ERROR(body.finish());
  if (items->empty() || items->size() > kBatchMax) {
    return Error(items->empty() ? ErrorCode::InvalidArgument : ErrorCode::TooLarge,
                 fmt::format("has {} items, expected 1 to {}", items->size(), kBatchMax), member);
  }
  std::vector<Apply> batch;
  for (size_t i = 0; i < items->size(); ++i) {
    Apply& apply = batch.emplace_back();
    JsonReader item((*items)[i], fmt::format("{}[{}]", member, i));
    int64_t version = 0;
    item.string("text", apply.text)
        .string("file", apply.file, kBatchFileCharsMax)
        .integer("if_version", version, 0, UINT32_MAX);
    if (!item.has("text")) {
      item.fail("text", fmt::format("is missing; expected {}, YAML or JSON", what));
    }
    if (item.has("if_version")) apply.if_version = static_cast<uint32_t>(version);
    RETURN_IF_ERROR(item.finish());
    if (apply.file.empty()) apply.file = fmt::format("{}[{}]", member, i);
  }
  return batch;
}

}  // namespace baton::webapi
