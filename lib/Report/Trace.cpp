// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace-event file. A queue's slices never overlap: an instruction owns its
// queue from start to issue end, and what lies between two instructions is
// stalls, one slice for each cause in turn.

#include "JsonText.h"
#include "ashlar/Report/Report.h"

#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace ashlar::report;
using llvm::json::OStream;

namespace {

class TraceWriter {
public:
  TraceWriter(OStream &json, const RunStatistics &statistics)
      : json(json), statistics(statistics) {}

  void tracks();
  void slices();
  void transfers();
  void counter();

private:
  void track(size_t index, const std::string &name);
  void slice(const std::string &name, const char *category, uint32_t track,
             uint64_t begin, uint64_t end,
             llvm::function_ref<void()> arguments);
  void instruction(const TimedInstruction &timed);

  OStream &json;
  const RunStatistics &statistics;
};

} // namespace

void TraceWriter::tracks() {
  json.object([&] {
    json.attribute("name", "process_name");
    json.attribute("ph", "M");
    json.attribute("pid", 1);
    json.attributeObject("args", [&] {
      json.attribute("name", jsonText(statistics.model + " on " +
                                      statistics.machine.name));
    });
  });
  for (size_t i = 0; i < statistics.engines.size(); ++i)
    track(i, statistics.engines[i].name);
  if (!statistics.transfers.empty())
    track(statistics.engines.size(), "dram");
}

void TraceWriter::track(size_t index, const std::string &name) {
  json.object([&] {
    json.attribute("name", "thread_name");
    json.attribute("ph", "M");
    json.attribute("pid", 1);
    json.attribute("tid", static_cast<int64_t>(index + 1));
    json.attributeObject("args",
                         [&] { json.attribute("name", jsonText(name)); });
  });
}

/// The server of DRAM is a track after those of the queues.
void TraceWriter::transfers() {
  const auto track = static_cast<uint32_t>(statistics.engines.size());
  for (const TimedTransfer &timed : statistics.transfers) {
    const bool known = timed.node < statistics.nodes.size();
    slice(known ? timed.opcode + " " + statistics.nodes[timed.node].name
                : timed.opcode,
          "dram", track, timed.start, timed.end, [&] {
            json.attribute("instruction", timed.index);
            json.attribute("bursts", timed.bursts);
          });
  }
}

void TraceWriter::slice(const std::string &name, const char *category,
                        uint32_t track, uint64_t begin, uint64_t end,
                        llvm::function_ref<void()> arguments) {
  json.object([&] {
    json.attribute("name", jsonText(name));
    json.attribute("cat", category);
    json.attribute("ph", "X");
    json.attribute("pid", 1);
    json.attribute("tid", static_cast<int64_t>(track) + 1);
    json.attribute("ts", begin);
    json.attribute("dur", end - begin);
    json.attributeObject("args", arguments);
  });
}

void TraceWriter::instruction(const TimedInstruction &timed) {
  std::string name = timed.opcode;
  const bool known = timed.node < statistics.nodes.size();
  if (known)
    name += " " + statistics.nodes[timed.node].name;
  slice(name, "instruction", timed.engine, timed.start,
        std::max(timed.issueEnd, timed.start), [&] {
          json.attribute("instruction", timed.index);
          json.attribute("complete", timed.complete);
          if (timed.copied)
            json.attribute("copied", timed.copied);
          if (known)
            json.attribute("node", jsonText(statistics.nodes[timed.node].name));
        });
}

void TraceWriter::slices() {
  auto stall = statistics.stalls.begin();
  for (const TimedInstruction &timed : statistics.timeline) {
    for (; stall != statistics.stalls.end() && stall->index <= timed.index;
         ++stall)
      slice(stall->cause, "stall", timed.engine, stall->begin, stall->end,
            [] {});
    if (!timed.isSemaphore)
      instruction(timed);
  }
}

void TraceWriter::counter() {
  // +1 where an instruction starts, -1 where its queue is free again.
  std::vector<std::pair<uint64_t, int>> steps;
  for (const TimedInstruction &timed : statistics.timeline)
    if (timed.issueEnd > timed.start) {
      steps.push_back({timed.start, 1});
      steps.push_back({timed.issueEnd, -1});
    }
  std::sort(steps.begin(), steps.end());
  int busy = 0, last = -1;
  for (size_t i = 0; i < steps.size();) {
    const uint64_t at = steps[i].first;
    for (; i < steps.size() && steps[i].first == at; ++i)
      busy += steps[i].second;
    if (busy == last)
      continue;
    last = busy;
    json.object([&] {
      json.attribute("name", "busy queues");
      json.attribute("ph", "C");
      json.attribute("pid", 1);
      json.attribute("ts", at);
      json.attributeObject("args", [&] { json.attribute("queues", busy); });
    });
  }
}

std::string ashlar::report::toTrace(const RunStatistics &statistics) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream);
  json.object([&] {
    json.attributeObject("otherData", [&] {
      json.attribute("time_unit", "1 us in the viewer is 1 cycle");
      json.attribute("clock_hz", statistics.machine.clockHz);
      json.attribute("total_cycles", statistics.totalCycles);
    });
    json.attributeArray("traceEvents", [&] {
      TraceWriter writer(json, statistics);
      writer.tracks();
      writer.slices();
      writer.transfers();
      writer.counter();
    });
  });
  text += '\n';
  return text;
}
