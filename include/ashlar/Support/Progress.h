// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A progress line for work that takes long enough to wonder about: on stderr,
// only if stderr is a terminal, only after a second.

#ifndef ASHLAR_SUPPORT_PROGRESS_H
#define ASHLAR_SUPPORT_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace ashlar::support {

/// "12 s", "3:05 min" or "2:07 h".
std::string durationText(double seconds);

/// The line: \p what, a bar, and the time left as it was at the last step,
/// which was taken \p atStep seconds after the start, with \p share of the work
/// done.
/// \p now is in seconds after the start too. There is no time left to be told
/// below a small share, or if the step has taken longer than it should.
std::string progressText(const std::string &what, double share, double atStep,
                         double now);

/// Shows "label: stage [#####     ] 52 %, 12 s left" and erases it when
/// destroyed. The line is drawn by a thread of its own, so that a step that
/// takes long is seen to take long.
class Progress {
public:
  /// \p total is the value of update() that means finished.
  Progress(std::string label, uint64_t total, bool enabled = true);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Says that \p done of the total are finished, and what is being done. The
  /// line never goes back; safe to call from several threads.
  void update(uint64_t done, std::string stage = "");

  /// Erases the line.
  void finish();

private:
  void watch();
  void draw();

  const std::string label;
  const uint64_t total;
  const std::chrono::steady_clock::time_point start;
  std::mutex mutex; ///< Of what follows.
  std::condition_variable ended;
  std::string stage;
  uint64_t done = 0;
  std::chrono::steady_clock::time_point step; ///< Of the last update().
  bool active;
  bool shown = false;
  std::thread watcher; ///< Only on a terminal.
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_PROGRESS_H
