// Read by the sanitizers' run-time libraries when they are linked in. The packaged ZooKeeper
// client formats log text into a static buffer shared by all handles, and loses the entries of
// requests that are under way when a handle is closed; neither can be mended from outside.
extern "C" {
const char* __lsan_default_suppressions();
const char* __tsan_default_suppressions();
const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt\n"; }
const char* __tsan_default_suppressions() { return "race:libzookeeper_mt\n"; }
}
