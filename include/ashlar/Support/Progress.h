// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A progress line for work that takes long enough to wonder about: on stderr,
// only if stderr is a terminal, only after a second.

#ifndef ASHLAR_SUPPORT_PROGRESS_H
#define ASHLAR_SUPPORT_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace ashlar::support {

/// Shows "label [#####     ] 52 %" and erases it when destroyed.
class Progress {
public:
  /// \p total is the value of update() that means finished.
  Progress(std::string label, uint64_t total, bool enabled = true);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Says that \p done of the total are finished. Costs one look at the clock.
  void update(uint64_t done);

  /// Erases the line.
  void finish();

private:
  void draw(uint64_t done);

  std::string label;
  uint64_t total;
  bool active;
  bool shown = false;
  std::chrono::steady_clock::time_point next;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_PROGRESS_H
