// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failures are seen where memory is requested, because only there is the number
// of bytes known, and most code between there and main is LLVM's, which is
// built without exceptions: nothing is unwound.

#include "ashlar/Support/OutOfMemory.h"
#include "ashlar/Support/AtSignal.h"
#include "ashlar/Support/Error.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

/// Null before main: LLVM's libraries allocate as they are loaded.
const char *toolName = nullptr;

/// The last request on this thread that was answered by null; the caller that
/// got that may continue or end in LLVM's handler, which is not told the size.
thread_local size_t refusedBytes = 0;

/// Bytes of the address space in use, 0 if unknown.
unsigned long long usedBytes() {
  char text[64] = {};
  const int descriptor = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return 0;
  const ssize_t length = ::read(descriptor, text, sizeof text - 1);
  ::close(descriptor);
  return length > 0 ? std::strtoull(text, nullptr, 10) *
                          static_cast<unsigned long long>(::getpagesize())
                    : 0;
}

/// One line on standard error, and the end. A second thread that gets here
/// waits for the end of the first.
[[noreturn]] [[gnu::format(printf, 2, 3)]] void
endWith(ErrorClass kind, const char *format, ...) {
  static std::atomic_flag ending = ATOMIC_FLAG_INIT;
  while (ending.test_and_set())
    ::pause();
  runAtSignal();
  char line[1024];
  const int prefix = std::snprintf(
      line, sizeof line,
      "%.64s: error: ", toolName ? toolName : ::program_invocation_short_name);
  std::va_list arguments;
  va_start(arguments, format);
  const size_t room = sizeof line - static_cast<size_t>(prefix) - 1;
  const int text = std::vsnprintf(line + prefix, room, format, arguments);
  va_end(arguments);
  size_t length = static_cast<size_t>(prefix) +
                  std::min(static_cast<size_t>(std::max(text, 0)), room - 1);
  line[length++] = '\n';
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line, length);
  ::_exit(static_cast<int>(kind));
}

void onBadAlloc(void *, const char *reason, bool) {
  outOfMemory(refusedBytes, reason);
}

/// What a thread asks for when it starts: its stack.
size_t stackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (::pthread_getattr_default_np(&attributes) != 0)
    return 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

/// LLVM's fatal errors, which would abort. A stream whose reader has left is
/// none; threads that cannot be started lack memory.
void onFatalError(void *, const char *reason, bool) {
  llvm::StringRef text(reason);
  if (text.starts_with("IO failure on output stream")) {
    if (text.ends_with(std::generic_category().message(EPIPE)))
      ::_exit(0);
    endWith(ErrorClass::Capacity, "%s", reason);
  }
  if (text.contains("pthread_"))
    outOfMemory(stackBytes(), reason);
  endWith(ErrorClass::Internal, "%s", reason);
}

/// Uncaught exceptions: those of the standard library.
void onTerminate() {
  if (!std::current_exception())
    endWith(ErrorClass::Internal, "terminated without an exception");
  try {
    throw;
  } catch (const std::bad_alloc &) {
    outOfMemory(refusedBytes);
  } catch (const std::length_error &error) {
    outOfMemory(0, error.what());
  } catch (const std::system_error &error) {
    // Of threads and mutexes.
    outOfMemory(stackBytes(), error.what());
  } catch (const std::exception &error) {
    endWith(ErrorClass::Internal, "%s", error.what());
  } catch (...) {
    endWith(ErrorClass::Internal, "unknown exception");
  }
}

} // namespace

void ashlar::support::outOfMemory(size_t bytes, const char *what) {
  char request[64] = "";
  if (bytes != 0)
    std::snprintf(request, sizeof request, ": %zu bytes requested", bytes);
  endWith(ErrorClass::Capacity, "out of memory%s, %llu in use%s%s%s", request,
          usedBytes(), what ? " (" : "", what ? what : "", what ? ")" : "");
}

void ashlar::support::guardMemory(const char *tool) {
  toolName = tool;
  std::set_terminate(onTerminate);
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  llvm::install_fatal_error_handler(onFatalError);
}

// The sanitizers check that allocation and release match, and end the process
// on failed requests themselves.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||     \
    __has_feature(thread_sanitizer)
#define ASHLAR_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASHLAR_SANITIZED
#endif

#ifndef ASHLAR_SANITIZED

#ifdef __GLIBC__
// Other libraries ask malloc, and end in handlers that are not told the size.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void *__libc_malloc(size_t) noexcept;
void *__libc_calloc(size_t, size_t) noexcept;
void *__libc_realloc(void *, size_t) noexcept;

void *malloc(size_t bytes) noexcept {
  void *result = __libc_malloc(bytes);
  if (!result)
    refusedBytes = bytes;
  return result;
}

void *calloc(size_t count, size_t bytes) noexcept {
  void *result = __libc_calloc(count, bytes);
  if (!result)
    refusedBytes = llvm::SaturatingMultiply(count, bytes);
  return result;
}

void *realloc(void *place, size_t bytes) noexcept {
  void *result = __libc_realloc(place, bytes);
  if (!result)
    refusedBytes = bytes;
  return result;
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
#endif // __GLIBC__

/// Zero bytes are a place of their own too.
static void *allocate(size_t bytes) {
  return std::malloc(std::max(bytes, size_t(1)));
}

static void *allocate(size_t bytes, std::align_val_t alignment) {
  void *result = nullptr;
  const size_t least = std::max(static_cast<size_t>(alignment), sizeof(void *));
  return ::posix_memalign(&result, least, std::max(bytes, size_t(1))) == 0
             ? result
             : nullptr;
}

static void *orRefuse(void *result, size_t bytes) {
  if (result)
    return result;
  refusedBytes = bytes;
  // LLVM would abort: no handler is installed yet.
  if (!toolName)
    outOfMemory(bytes);
  return nullptr;
}

static void *orEnd(void *result, size_t bytes) {
  if (!result)
    outOfMemory(bytes);
  return result;
}

// The forms for arrays call these.
void *operator new(size_t bytes) { return orEnd(allocate(bytes), bytes); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  return orEnd(allocate(bytes, alignment), bytes);
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return orRefuse(allocate(bytes), bytes);
}
void *operator new(size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t &) noexcept {
  return orRefuse(allocate(bytes, alignment), bytes);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return orRefuse(allocate(bytes), bytes);
}
void *operator new[](size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t &) noexcept {
  return orRefuse(allocate(bytes, alignment), bytes);
}
void operator delete(void *place) noexcept { std::free(place); }
void operator delete(void *place, size_t) noexcept { std::free(place); }
void operator delete(void *place, std::align_val_t) noexcept {
  std::free(place);
}
void operator delete(void *place, size_t, std::align_val_t) noexcept {
  std::free(place);
}

#endif // ASHLAR_SANITIZED
