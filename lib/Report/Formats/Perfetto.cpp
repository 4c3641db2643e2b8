// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Perfetto's native trace: messages Trace, TracePacket, TrackDescriptor and
// TrackEvent of perfetto/protos/perfetto/trace. Readers want the packets of a
// track in the order of time, so that packets are collected and sorted first.

#include "../JsonText.h"
#include "ashlar/Report/Report.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <protozero/pbf_writer.hpp>
#include <tuple>

using namespace ashlar::report;
using protozero::pbf_writer;

namespace {

// Field numbers of Perfetto's messages.
namespace trace {
constexpr uint32_t packet = 1;
} // namespace trace
namespace packet {
constexpr uint32_t timestamp = 8, sequence = 10, event = 11, flags = 13,
                   descriptor = 60;
constexpr uint32_t stateCleared = 1;
} // namespace packet
namespace descriptor {
constexpr uint32_t uuid = 1, name = 2, process = 3, parent = 5, counter = 8;
constexpr uint32_t processId = 1, processName = 6;
constexpr uint32_t unitName = 6;
} // namespace descriptor
namespace event {
constexpr uint32_t annotation = 4, type = 9, track = 11, category = 22,
                   name = 23, doubleValue = 44, flow = 47, flowEnd = 48;
constexpr int32_t begin = 1, end = 2, instant = 3, counter = 4;
constexpr uint32_t annotationUnsigned = 3, annotationName = 10;
} // namespace event

/// All packets come from one writer.
constexpr uint32_t kSequence = 1;
constexpr uint64_t kProcess = 1;

class PerfettoWriter {
public:
  explicit PerfettoWriter(const RunStatistics &statistics)
      : statistics(statistics) {}

  std::string write();

private:
  uint64_t addTrack(const std::string &name, bool counts = false,
                    const char *unit = "");
  void describeProcess();
  void addInstructions();
  void addTransfers();
  void addLayers();
  void addRate(const char *name, const char *unit,
               const std::map<uint64_t, double> &steps);
  void addMemory(bool inDram);
  void addCounters();

  struct Slice {
    std::string name;
    const char *category;
    uint64_t track, begin, end;
    std::vector<uint64_t> flows, flowEnds;
    std::vector<std::pair<const char *, uint64_t>> annotations;
  };
  void addSlice(const Slice &slice);
  void addPacket(uint64_t time, int order, const std::string &body);

  /// A packet at its time: ends of slices come before beginnings there.
  struct Packet {
    uint64_t time;
    int order;
    std::string bytes;
  };

  const RunStatistics &statistics;
  std::string descriptors;
  std::vector<Packet> packets;
  uint64_t tracks = kProcess; ///< Given so far; each number is a UUID.
};

void PerfettoWriter::describeProcess() {
  std::string process;
  pbf_writer owner(process);
  owner.add_int32(descriptor::processId, 1);
  owner.add_string(descriptor::processName, jsonText(statistics.model + " on " +
                                                     statistics.machine.name));
  std::string track;
  pbf_writer writer(track);
  writer.add_uint64(descriptor::uuid, kProcess);
  writer.add_message(descriptor::process, process);
  std::string body;
  pbf_writer all(body);
  all.add_uint32(packet::sequence, kSequence);
  all.add_uint32(packet::flags, packet::stateCleared);
  all.add_message(packet::descriptor, track);
  pbf_writer(descriptors).add_message(trace::packet, body);
}

uint64_t PerfettoWriter::addTrack(const std::string &name, bool counts,
                                  const char *unit) {
  std::string track;
  pbf_writer writer(track);
  writer.add_uint64(descriptor::uuid, ++tracks);
  writer.add_uint64(descriptor::parent, kProcess);
  writer.add_string(descriptor::name, jsonText(name));
  if (counts) {
    std::string counter;
    pbf_writer(counter).add_string(descriptor::unitName, unit);
    writer.add_message(descriptor::counter, counter);
  }
  std::string body;
  pbf_writer all(body);
  all.add_uint32(packet::sequence, kSequence);
  all.add_message(packet::descriptor, track);
  pbf_writer(descriptors).add_message(trace::packet, body);
  return tracks;
}

void PerfettoWriter::addPacket(uint64_t time, int order,
                               const std::string &body) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_uint64(packet::timestamp, time);
  writer.add_uint32(packet::sequence, kSequence);
  writer.add_message(packet::event, body);
  packets.push_back({time, order, std::move(bytes)});
}

void PerfettoWriter::addSlice(const Slice &slice) {
  const bool lasts = slice.end > slice.begin;
  std::string body;
  pbf_writer writer(body);
  for (const auto &[name, value] : slice.annotations) {
    std::string annotation;
    pbf_writer field(annotation);
    field.add_uint64(event::annotationUnsigned, value);
    field.add_string(event::annotationName, name);
    writer.add_message(event::annotation, annotation);
  }
  writer.add_enum(event::type, lasts ? event::begin : event::instant);
  writer.add_uint64(event::track, slice.track);
  writer.add_string(event::category, slice.category);
  writer.add_string(event::name, jsonText(slice.name));
  for (uint64_t flow : slice.flows)
    writer.add_fixed64(event::flow, flow);
  for (uint64_t flow : slice.flowEnds)
    writer.add_fixed64(event::flowEnd, flow);
  addPacket(slice.begin, 1, body);
  if (!lasts)
    return;
  std::string end;
  pbf_writer last(end);
  last.add_enum(event::type, event::end);
  last.add_uint64(event::track, slice.track);
  addPacket(slice.end, 0, end);
}

/// One flow for each pair of an instruction and one that waits for it.
void PerfettoWriter::addInstructions() {
  std::vector<uint64_t> queues(statistics.engines.size());
  for (size_t i = 0; i < queues.size(); ++i)
    if (statistics.engines[i].instructions > 0)
      queues[i] = addTrack(statistics.engines[i].name);
  std::map<uint32_t, std::vector<uint64_t>> begins, ends;
  uint64_t flows = 0;
  for (const TimedInstruction &timed : statistics.timeline)
    for (uint32_t source : timed.sources) {
      begins[source].push_back(++flows);
      ends[timed.index].push_back(flows);
    }
  for (const TimedInstruction &timed : statistics.timeline) {
    if (timed.isSemaphore)
      continue;
    const bool known = timed.node < statistics.nodes.size();
    Slice slice{known ? timed.opcode + " " + statistics.nodes[timed.node].name
                      : timed.opcode,
                "instruction",
                queues[timed.engine],
                timed.start,
                timed.issueEnd,
                {},
                {},
                {{"instruction", timed.index}, {"complete", timed.complete}}};
    if (timed.macs)
      slice.annotations.push_back({"macs", timed.macs});
    if (timed.copied)
      slice.annotations.push_back({"copied", timed.copied});
    if (auto found = begins.find(timed.index); found != begins.end())
      slice.flows = found->second;
    if (auto found = ends.find(timed.index); found != ends.end())
      slice.flowEnds = found->second;
    addSlice(slice);
  }
  for (const TimedStall &stall : statistics.stalls)
    addSlice({stall.cause,
              "stall",
              queues[statistics.timeline[stall.index].engine],
              stall.begin,
              stall.end,
              {},
              {},
              {}});
}

void PerfettoWriter::addTransfers() {
  if (statistics.transfers.empty())
    return;
  const uint64_t track = addTrack("dram");
  for (const TimedTransfer &timed : statistics.transfers)
    addSlice({timed.node < statistics.nodes.size()
                  ? timed.opcode + " " + statistics.nodes[timed.node].name
                  : timed.opcode,
              "dram",
              track,
              timed.start,
              timed.end,
              {},
              {},
              {{"instruction", timed.index}, {"bursts", timed.bursts}}});
}

/// Layers overlap: each goes to the first track that is free.
void PerfettoWriter::addLayers() {
  std::vector<const NodeStatistics *> nodes;
  for (const NodeStatistics &node : statistics.nodes)
    if (node.end > node.start)
      nodes.push_back(&node);
  llvm::sort(nodes, [](const NodeStatistics *a, const NodeStatistics *b) {
    return std::pair(a->start, a) < std::pair(b->start, b); // of one array
  });
  std::vector<std::pair<uint64_t, uint64_t>> lanes; // track, free from
  for (const NodeStatistics *node : nodes) {
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const auto &own) {
      return own.second <= node->start;
    });
    if (lane == lanes.end()) {
      lanes.emplace_back(addTrack(fmt::format("layers {}", lanes.size())), 0);
      lane = lanes.end() - 1;
    }
    lane->second = node->end;
    addSlice({node->name + " " + node->opType,
              "layer",
              lane->first,
              node->start,
              node->end,
              {},
              {},
              {{"cycles", node->cycles},
               {"macs", node->macs},
               {"dram_read", node->dramRead},
               {"dram_write", node->dramWrite}}});
  }
}

/// A counter from its changes at each time.
void PerfettoWriter::addRate(const char *name, const char *unit,
                             const std::map<uint64_t, double> &steps) {
  if (steps.empty())
    return;
  const uint64_t track = addTrack(name, /*counts=*/true, unit);
  double value = 0;
  for (const auto &[time, change] : steps) {
    value += change;
    std::string body;
    pbf_writer writer(body);
    writer.add_enum(event::type, event::counter);
    writer.add_uint64(event::track, track);
    // Rounding may leave a trace of what has ended.
    writer.add_double(event::doubleValue, value < 1e-6 ? 0 : value);
    addPacket(time, 2, body);
  }
}

void PerfettoWriter::addMemory(bool inDram) {
  std::map<uint64_t, double> steps;
  for (const PlacementStatistics &place : statistics.placements)
    if (place.inDram == inDram && place.end > place.start) {
      steps[place.start] += static_cast<double>(place.bytes);
      steps[place.end] -= static_cast<double>(place.bytes);
    }
  addRate(inDram ? "feature maps in DRAM" : "feature maps in SB, per partition",
          "bytes", steps);
}

void PerfettoWriter::addCounters() {
  std::map<uint64_t, double> bytes, macs;
  auto spread = [](std::map<uint64_t, double> &steps, uint64_t begin,
                   uint64_t end, uint64_t amount) {
    if (end <= begin || amount == 0)
      return;
    const double rate =
        static_cast<double>(amount) / static_cast<double>(end - begin);
    steps[begin] += rate;
    steps[end] -= rate;
  };
  for (const TimedTransfer &timed : statistics.transfers)
    spread(bytes, timed.start, timed.end,
           timed.bursts * statistics.machine.dram.burstBytes);
  for (const TimedInstruction &timed : statistics.timeline)
    spread(macs, timed.start, timed.issueEnd, timed.macs);
  addRate("DRAM", "bytes per cycle", bytes);
  addRate("multiplications", "per cycle", macs);
  addMemory(/*inDram=*/false);
  addMemory(/*inDram=*/true);
}

std::string PerfettoWriter::write() {
  describeProcess();
  addLayers();
  addInstructions();
  addTransfers();
  addCounters();
  // Packets that are equal in both keep the order in which they were added.
  std::vector<size_t> order(packets.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::tuple(packets[a].time, packets[a].order, a) <
           std::tuple(packets[b].time, packets[b].order, b);
  });
  std::string text = std::move(descriptors);
  pbf_writer writer(text);
  for (size_t index : order)
    writer.add_message(trace::packet, packets[index].bytes);
  return text;
}

} // namespace

std::string ashlar::report::toPerfetto(const RunStatistics &statistics) {
  return PerfettoWriter(statistics).write();
}
