// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The progress line.

#include "ashlar/Support/Progress.h"
#include "ashlar/Support/Console.h"

#include <algorithm>
#include <fmt/format.h>
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
  if (!active)
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
  printErr(fmt::format("\r{} [{:<30}] {:3.0f} %", label,
                       std::string(filled, '#'), part * 100));
  shown = true;
}

void Progress::finish() {
  if (shown)
    printErr("\r\033[K");
  shown = false;
  active = false;
}
