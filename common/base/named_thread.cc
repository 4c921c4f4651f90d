#include "common/base/named_thread.h"

#include <pthread.h>
#include <signal.h>

namespace baton {

NamedThread::NamedThread(const std::string& name, std::function<void(std::stop_token)> body) {
  // Signals are for the main thread: a thread that inherits an open mask would steal SIGTERM.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([body = std::move(body)](std::stop_token stop) { body(stop); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

}  // namespace baton
