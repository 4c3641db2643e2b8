// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The progress line.

#include "ashlar/Support/Progress.h"

#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <unistd.h>
#include <utility>

using namespace ashlar::support;
using Clock = std::chrono::steady_clock;

Progress::Progress(std::string label, uint64_t total, bool enabled)
    : label(std::move(label)), total(std::max<uint64_t>(total, 1)),
      active(enabled && ::isatty(STDERR_FILENO) == 1),
      next(Clock::now() + std::chrono::seconds(1)) {}

Progress::~Progress() { finish(); }

void Progress::update(uint64_t done) {
  // Reading the clock costs more than most callers' iterations.
  if (!active || (++calls & 15u) != 0)
    return;
  const Clock::time_point now = Clock::now();
  if (now < next)
    return;
  next = now + std::chrono::milliseconds(100);
  draw(std::min(done, total));
}

void Progress::draw(uint64_t done) {
  constexpr unsigned width = 30;
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const unsigned filled = static_cast<unsigned>(part * width);
  fmt::print(stderr, "\r{} [{:<30}] {:3.0f} %", label, std::string(filled, '#'),
             part * 100);
  std::fflush(stderr);
  shown = true;
}

void Progress::finish() {
  if (shown) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }
  shown = false;
  active = false;
}
