#include "conf/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/base/file_descriptor.h"
#include "common/base/random.h"
#include "conf/yaml_file.h"

namespace baton::conf {
namespace {

// The rule of readTokenFile; `from` names the file.
Status checkToken(const std::string& token, const std::string& from) {
  if (token.size() < kTokenCharsMin) {
    return Error::invalidArgument("{}: the token has {} characters, at least {} are needed", from,
                                  token.size(), kTokenCharsMin);
  }
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!plain) {
    return Error::invalidArgument("{}: the token has blanks or characters beyond ASCII", from);
  }
  return {};
}

}  // namespace

Result<std::string> readSecretFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & S_IROTH) != 0) {
    return Error::make(ErrorCode::PermissionDenied,
                       "{}: everybody may read it (mode {:04o}); mend it with chmod 600", path,
                       info.st_mode & 07777U);
  }
  ASSIGN_OR_RETURN(std::string text, readConfigFile(path));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) return Error::invalidArgument("{}: is empty, expected one line", path);
  if (text.size() > 4'096) return Error::invalidArgument("{}: is over 4096 bytes", path);
  if (text.find('\n') != text.npos || text.find('\0') != text.npos) {
    return Error::invalidArgument("{}: has several lines, expected one", path);
  }
  return text;
}

Result<std::string> readTokenFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string token, readSecretFile(path));
  RETURN_IF_ERROR(checkToken(token, path));
  return token;
}

Status writeSecretFile(const std::string& path, const std::string& secret) {
  const std::string temporary = fmt::format("{}.{}", path, randomHex(4));
  const auto failed = [&](std::string_view step) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return Error::unavailable("{}: {}: {}", path, step, std::strerror(error));
  };
  FileDescriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return failed("create");
  const std::string line = secret + "\n";
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return failed("write");
  }
  if (::fsync(file.get()) != 0) return failed("sync");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failed("rename");
  return {};
}

}  // namespace baton::conf
