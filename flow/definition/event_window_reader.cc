#include "flow/definition/event_window.h"
#include "flow/definition/reading.h"

namespace baton::flow {

void readEventWindow(MapReader& event, EventWindow& window) {
  const YamlEntry* entry = event.take("window");
  if (entry == nullptr) return;
  const YamlNode* name = &entry->value;
  if (name->kind == YamlNode::Kind::Map && name->entries.size() == 1) {
    const YamlEntry& only = name->entries.front();
    const bool all = only.value.kind == YamlNode::Kind::Scalar && only.value.text == "all";
    const bool newest = only.value.kind == YamlNode::Kind::Scalar && only.value.text == "newest";
    if (!all && !newest) {
      event.issues().error(only.value.mark, event.pathOf("window"),
                           fmt::format("is {}, expected all or newest", shownNode(only.value)));
    }
    window.all = all;
    window.name = only.key;
  } else if (name->kind == YamlNode::Kind::Scalar) {
    window.name = name->text;
  } else {
    window.name.clear();
  }
  if (!isEventWindow(window.name)) {
    event.wrong(*entry,
                fmt::format("a window such as same_day, or {{last_24_hours: all}}: one of {}",
                            joinWords(eventWindowNames())));
  }
}

}  // namespace baton::flow
