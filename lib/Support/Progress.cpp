// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The progress line.

#include "ashlar/Support/Progress.h"
#include "ashlar/Support/Console.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

using namespace ashlar::support;
using Clock = std::chrono::steady_clock;

/// Work that takes less is not worth a line.
static constexpr std::chrono::milliseconds kPatience(1000);
static constexpr std::chrono::milliseconds kPeriod(200);
/// Below this share the time left is a guess.
static constexpr double kLeastShare = 0.03;

std::string ashlar::support::durationText(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole < 60)
    return fmt::format("{} s", whole);
  if (whole < 3600)
    return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

std::string ashlar::support::progressText(const std::string &what, double share,
                                          double atStep, double now) {
  constexpr unsigned width = 30;
  std::string left;
  if (share >= kLeastShare && share < 1) {
    const double rest = atStep * (1 - share) / share - (now - atStep);
    if (rest > 0)
      left = ", " + durationText(rest) + " left";
  }
  return fmt::format("{} [{:<30}] {:3.0f} %{}", what,
                     std::string(static_cast<unsigned>(share * width), '#'),
                     share * 100, left);
}

Progress::Progress(std::string label, uint64_t total, bool enabled)
    : label(std::move(label)), total(std::max<uint64_t>(total, 1)),
      start(Clock::now()), step(start),
      active(enabled && ::isatty(STDERR_FILENO) == 1) {
  if (!active)
    return;
  // Signals are the business of the threads that work.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher = std::thread([this] { watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Progress::~Progress() { finish(); }

void Progress::update(uint64_t value, std::string what) {
  std::lock_guard lock(mutex);
  done = std::max(done, std::min(value, total));
  stage = std::move(what);
  step = Clock::now();
}

void Progress::watch() {
  std::unique_lock lock(mutex);
  Clock::time_point next = start + kPatience;
  while (!ended.wait_until(lock, next, [this] { return !active; })) {
    draw();
    next = Clock::now() + kPeriod;
  }
}

void Progress::draw() {
  using Seconds = std::chrono::duration<double>;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const std::string what = stage.empty() ? label : label + ": " + stage;
  printErr("\r\033[K" + progressText(what, share, Seconds(step - start).count(),
                                     Seconds(Clock::now() - start).count()));
  shown = true;
}

void Progress::finish() {
  {
    std::lock_guard lock(mutex);
    active = false;
  }
  ended.notify_all();
  if (watcher.joinable())
    watcher.join();
  if (shown)
    printErr("\r\033[K");
  shown = false;
}
