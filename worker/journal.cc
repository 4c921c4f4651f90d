#include "worker/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/base/log.h"
#include "common/base/mutant.h"
#include "common/base/random.h"
#include "worker/journal_file.h"
#include "worker/proc_info.h"

namespace baton::worker {
namespace {

constexpr const char* kJournalTemp = "journal.new";
constexpr size_t kBatchBytes = 8 * 1024 * 1024;

Error fileError(const std::string& what, int error) {
  return Error::make(error == ENOSPC ? ErrorCode::StorageFull : ErrorCode::Unavailable, "{}: {}",
                     what, strerror(error));
}

Result<std::string> readAll(int fd) {
  std::string bytes;
  char buffer[65536];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fileError("the journal can't be read", errno);
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

Status writeAt(int fd, std::string_view bytes, size_t offset) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return fileError("the journal can't be written", wrote < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(wrote));
    offset += static_cast<size_t>(wrote);
  }
  return {};
}

void readOrderKey(JsonReader& reader, AttemptKey& key) {
  int64_t task = 0;
  int64_t attempt = 0;
  reader.integer("task", task, 1, INT64_MAX)
      .integer("attempt", attempt, 1, INT32_MAX)
      .string("nonce", key.nonce);
  key.task_id = static_cast<TaskId>(task);
  key.attempt = static_cast<int32_t>(attempt);
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(Options options, const Clock& clock) {
  std::unique_ptr<Journal> journal(new Journal(std::move(options), clock));
  journal->boot_id_ = readBootId();
  RETURN_IF_ERROR(journal->openDirectory());
  RETURN_IF_ERROR(journal->takeLock());
  if (const Status loaded = journal->load(); !loaded.ok()) {
    if (loaded.error().code() != ErrorCode::Corrupt) return loaded;
    RETURN_IF_ERROR(journal->setAside(loaded.error()));
  }
  if (journal->journal_id_.empty()) {
    journal->journal_id_ = makeUuid();
    journal->is_new_ = true;
  }
  ++journal->incarnation_;
  RETURN_IF_ERROR(journal->rewrite());
  return journal;
}

Status Journal::openDirectory() {
  if (mkdir(options_.dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return fileError(fmt::format("data directory {} can't be made", options_.dir), errno);
  }
  dir_.reset(::open(options_.dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir_)
    return fileError(fmt::format("data directory {} can't be opened", options_.dir), errno);
  return {};
}

Status Journal::takeLock() {
  lock_.reset(openat(dir_.get(), kLockName, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_)
    return fileError(fmt::format("{}/{} can't be opened", options_.dir, kLockName), errno);
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    char pid[32] = {};
    const ssize_t got = pread(lock_.get(), pid, sizeof(pid) - 1, 0);
    std::string owner(pid, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    while (!owner.empty() && owner.back() == '\n') owner.pop_back();
    return Error::conflict("data directory {} is in use by another worker (pid {})", options_.dir,
                           owner);
  }
  const std::string text = fmt::format("{}\n", getpid());
  if (ftruncate(lock_.get(), 0) != 0) {
    return fileError(fmt::format("{}/{} can't be written", options_.dir, kLockName), errno);
  }
  return writeAt(lock_.get(), text, 0);
}

Status Journal::load() {
  FileDescriptor fd(openat(dir_.get(), kFileName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    if (errno == ENOENT) return {};
    return fileError(fmt::format("{}/{} can't be opened", options_.dir, kFileName), errno);
  }
  ASSIGN_OR_RETURN(const std::string bytes, readAll(fd.get()));
  ASSIGN_OR_RETURN(const DecodedJournal decoded, decodeJournal(bytes));
  for (const std::string& payload : decoded.payloads) {
    for (size_t begin = 0; begin < payload.size();) {
      const size_t end = std::min(payload.find('\n', begin), payload.size());
      RETURN_IF_ERROR(apply(payload.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  if (decoded.valid_bytes < bytes.size()) {
    logWarn("journal_torn_tail", field("dir", options_.dir),
            field("bytes", bytes.size() - decoded.valid_bytes));
  }
  if (!bytes.empty() && journal_id_.empty()) {
    return Error(ErrorCode::Corrupt, "the journal's first record is damaged");
  }
  return {};
}

Status Journal::setAside(const Error& why) {
  const std::string name = fmt::format("journal.damaged-{}", toMicros(clock_.wallNow()));
  if (renameat(dir_.get(), kFileName, dir_.get(), name.c_str()) != 0) {
    return fileError(fmt::format("{}/{} can't be moved aside", options_.dir, kFileName), errno);
  }
  replaced_damaged_ = options_.dir + "/" + name;
  logError("journal_damaged", field("error", why.message()), field("moved_to", replaced_damaged_));
  journal_id_.clear();
  incarnation_ = 0;
  cluster_guid_.clear();
  epochs_.clear();
  slots_.clear();
  return {};
}

Status Journal::apply(const std::string& payload) {
  auto json = parseJson(payload, {.bytes_max = 64 * 1024 * 1024});
  if (!json.ok() || !json->is_object()) {
    return Error(ErrorCode::Corrupt, "a journal record is no JSON object");
  }
  JsonReader reader(*json);
  std::string kind, guid, runner;
  int64_t number = 0;
  reader.string("k", kind).string("runner", runner).string("guid", guid);
  if (kind == "identity") {
    reader.string("journal_id", journal_id_).integer("incarnation", number, 0, INT64_MAX);
    incarnation_ = static_cast<uint64_t>(number);
  } else if (kind == "epoch") {
    reader.integer("epoch", number, 0, INT64_MAX);
    cluster_guid_ = guid;
    epochs_[guid] = std::max(epochs_[guid], static_cast<Epoch>(number));
  } else if (kind == "accept") {
    return applyAccept(*json);
  } else if (kind == "result") {
    return applyResult(*json);
  } else if (kind == "settled") {
    JournalSlot& slot = slots_[runner];
    slot.open.reset();
    slot.result.reset();
  }  // Others are of a newer version, to which this one is the way back.
  if (const Status read = reader.finishTolerant(); !read.ok()) {
    return Error(ErrorCode::Corrupt, "a journal record is damaged: " + read.error().message());
  }
  return {};
}

Status Journal::applyAccept(const Json& record) {
  JsonReader reader(record);
  std::string runner;
  int64_t timeout = 0, grace = 0, epoch = 0;
  bool open = true;
  Order order;
  readOrderKey(reader, order.key);
  reader.string("runner", runner)
      .string("run", order.run_part)
      .integer("timeout_ms", timeout, 0, INT64_MAX)
      .integer("grace_ms", grace, 0, INT64_MAX)
      .integer("epoch", epoch, 0, INT64_MAX)
      .boolean("open", open);
  if (const Status read = reader.finishTolerant(); !read.ok()) {
    return Error(ErrorCode::Corrupt, "a journal record is damaged: " + read.error().message());
  }
  order.timeout = Millis(timeout);
  order.kill_grace = Millis(grace);
  JournalSlot& slot = slots_[runner];
  slot = {
      .has_last_order = true, .last_order = order.key, .open = {}, .open_epoch = 0, .result = {}};
  if (open) {
    slot.open = std::move(order);
    slot.open_epoch = static_cast<Epoch>(epoch);
  }
  return {};
}

Status Journal::applyResult(const Json& record) {
  JsonReader reader(record);
  std::string runner, boot, note_text;
  int64_t wall_us = 0;
  reader.string("runner", runner)
      .string("boot", boot)
      .string("note", note_text)
      .integer("ended_wall_us", wall_us, INT64_MIN, INT64_MAX);
  if (const Status read = reader.finishTolerant(); !read.ok()) {
    return Error(ErrorCode::Corrupt, "a journal record is damaged: " + read.error().message());
  }
  auto note = parseShepherdNote(note_text);
  const EndedNote* ended = note.ok() ? std::get_if<EndedNote>(&*note) : nullptr;
  if (ended == nullptr) return Error(ErrorCode::Corrupt, "a journalled result is damaged");
  KeptResult kept{.key = ended->key, .result = ended->result, .ended = {}, .why = ended->why};
  if (boot == boot_id_) {
    kept.ended = BootTime(Micros(ended->ended_us));
  } else {
    // Boot times of another boot say nothing; wall times may, if nobody moved the clock much.
    const Micros ago = std::max(clock_.wallNow() - wallFromMicros(wall_us), Micros(0));
    kept.ended = clock_.bootNow() - ago;
  }
  slots_[runner].result = std::move(kept);
  return {};
}

Json Journal::acceptRecord(const std::string& runner_id, const Order& order, Epoch epoch) const {
  return {{"k", "accept"},
          {"runner", runner_id},
          {"task", order.key.task_id},
          {"attempt", order.key.attempt},
          {"nonce", order.key.nonce},
          {"run", order.run_part},
          {"timeout_ms", order.timeout.count()},
          {"grace_ms", order.kill_grace.count()},
          {"epoch", epoch}};
}

Json Journal::resultRecord(const std::string& runner_id, const KeptResult& kept) const {
  EndedNote note;
  note.key = kept.key;
  note.result = kept.result;
  note.ended_us = std::max<int64_t>(toMicros(kept.ended), 0);
  note.why = kept.why;
  const WallTime ended_wall = clock_.wallNow() - (clock_.bootNow() - kept.ended);
  return {{"k", "result"},
          {"runner", runner_id},
          {"boot", boot_id_},
          {"ended_wall_us", toMicros(ended_wall)},
          {"note", toLine(ShepherdNote(std::move(note)))}};
}

Epoch Journal::epochOf(const std::string& cluster_guid) const {
  const auto found = epochs_.find(cluster_guid);
  return found == epochs_.end() ? 0 : found->second;
}

void Journal::note(const Json& record, bool urgent) {
  unwritten_ += dumpJson(record) + "\n";
  urgent_ = urgent_ || urgent;
}

void Journal::noteEpoch(const std::string& cluster_guid, Epoch epoch) {
  if (cluster_guid == cluster_guid_ && epochOf(cluster_guid) >= epoch) return;
  cluster_guid_ = cluster_guid;
  Epoch& highest = epochs_[cluster_guid];
  highest = std::max(highest, epoch);
  note({{"k", "epoch"}, {"guid", cluster_guid}, {"epoch", highest}}, true);
}

void Journal::noteAccept(const std::string& runner_id, const Order& order, Epoch epoch) {
  slots_[runner_id] = {.has_last_order = true,
                       .last_order = order.key,
                       .open = order,
                       .open_epoch = epoch,
                       .result = {}};
  if (mutant("journal_off")) return;
  note(acceptRecord(runner_id, order, epoch), true);
}

void Journal::noteResult(const std::string& runner_id, const KeptResult& result) {
  JournalSlot& slot = slots_[runner_id];
  if (slot.result && slot.result->key == result.key) return;
  slot.result = result;
  note(resultRecord(runner_id, result), true);
}

void Journal::noteSettled(const std::string& runner_id, const AttemptKey& key) {
  JournalSlot& slot = slots_[runner_id];
  if (!slot.open || slot.open->key != key) return;
  slot.open.reset();
  slot.result.reset();
  note({{"k", "settled"}, {"runner", runner_id}}, false);
}

Status Journal::sync() {
  if (unwritten_.empty()) return {};
  if (size_ + unwritten_.size() > options_.compact_bytes && rewrite().ok()) return {};
  // A disk without room for a new file may still have the blocks that this one was given.
  return append();
}

Status Journal::append() {
  std::string bytes;
  std::string_view rest = unwritten_;
  while (!rest.empty()) {
    // Whole lines only; the cap of a record is far above that of a line.
    size_t end = rest.find('\n', std::min(kBatchBytes, rest.size() - 1));
    end = end == std::string_view::npos ? rest.size() : end + 1;
    bytes += encodeRecord(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  RETURN_IF_ERROR(writeAt(file_.get(), bytes, size_));
  if (fdatasync(file_.get()) != 0) return fileError("the journal can't be synced", errno);
  size_ += bytes.size();
  unwritten_.clear();
  urgent_ = false;
  return {};
}

std::string Journal::snapshot() const {
  std::string bytes = encodeRecord(
      dumpJson({{"k", "identity"}, {"journal_id", journal_id_}, {"incarnation", incarnation_}}));
  // The present cluster comes last: the last one read is the present one.
  const auto addEpoch = [&](const std::string& guid, Epoch epoch) {
    bytes += encodeRecord(dumpJson({{"k", "epoch"}, {"guid", guid}, {"epoch", epoch}}));
  };
  for (const auto& [guid, epoch] : epochs_) {
    if (guid != cluster_guid_) addEpoch(guid, epoch);
  }
  if (!cluster_guid_.empty()) addEpoch(cluster_guid_, epochOf(cluster_guid_));
  for (const auto& [runner, slot] : slots_) {
    if (!slot.has_last_order) continue;
    if (slot.open) {
      bytes += encodeRecord(dumpJson(acceptRecord(runner, *slot.open, slot.open_epoch)));
    } else {
      Json record = acceptRecord(runner, {.key = slot.last_order, .run_part = {}}, 0);
      record["open"] = false;
      bytes += encodeRecord(dumpJson(record));
    }
    if (slot.result) bytes += encodeRecord(dumpJson(resultRecord(runner, *slot.result)));
  }
  return bytes;
}

Status Journal::rewrite() {
  const std::string bytes = snapshot();
  FileDescriptor fd(
      openat(dir_.get(), kJournalTemp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fileError(fmt::format("{}/{} can't be made", options_.dir, kJournalTemp), errno);
  RETURN_IF_ERROR(writeAt(fd.get(), bytes, 0));
  // Room for what follows, taken while there is some: a full disk must not stop the journal. A
  // file system that can't do it does without.
  [[maybe_unused]] const int reserved = fallocate(
      fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes.size() + options_.compact_bytes));
  if (fsync(fd.get()) != 0) return fileError("the journal can't be synced", errno);
  if (renameat(dir_.get(), kJournalTemp, dir_.get(), kFileName) != 0 || fsync(dir_.get()) != 0) {
    return fileError("the journal can't be put in place", errno);
  }
  file_ = std::move(fd);
  size_ = bytes.size();
  unwritten_.clear();
  urgent_ = false;
  return {};
}

}  // namespace baton::worker
