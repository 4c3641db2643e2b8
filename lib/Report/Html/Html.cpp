// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The report as a page. Its text and scripts lie in page/ and are part of the
// library; here they get the data: the JSON report, the numeric plan, where
// tensors lie, the time line as columns, and another run to compare with.

#include "../JsonText.h"
#include "ashlar/Report/Report.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Json.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace ashlar;
using namespace ashlar::report;
using llvm::json::OStream;

namespace {

constexpr llvm::StringLiteral page =
#include "ReportPage.inc"
    ;

/// Numbers for texts that repeat, in the order of their first use.
class Names {
public:
  size_t operator()(llvm::StringRef text) {
    const auto [entry, isNew] = numbers.try_emplace(text, list.size());
    if (isNew)
      list.push_back(text.str());
    return entry->second;
  }
  void write(OStream &json, llvm::StringRef key) const {
    json.attributeArray(key, [&] {
      for (const std::string &name : list)
        json.value(jsonText(name));
    });
  }

private:
  llvm::StringMap<size_t> numbers;
  std::vector<std::string> list;
};

int64_t nodeOf(const TimedInstruction &timed) {
  return timed.node == TimedInstruction::noNode ? -1 : int64_t(timed.node);
}

/// One array per column: a tenth of the bytes of one object per instruction.
void writeTimeline(OStream &json, const RunStatistics &statistics) {
  std::vector<const TimedInstruction *> rows;
  for (const TimedInstruction &timed : statistics.timeline)
    if (!timed.isSemaphore)
      rows.push_back(&timed);
  Names opcodes;
  auto column = [&](const char *key, auto value) {
    json.attributeArray(key, [&] {
      for (const TimedInstruction *timed : rows)
        json.value(static_cast<int64_t>(value(*timed)));
    });
  };
  uint64_t last = 0;
  column("start", [&](const TimedInstruction &t) {
    const auto step = static_cast<int64_t>(t.start - last);
    last = t.start;
    return step;
  });
  column("busy", [](const auto &t) {
    return t.issueEnd > t.start ? t.issueEnd - t.start : 0;
  });
  column("complete", [](const auto &t) {
    return t.complete > t.start ? t.complete - t.start : 0;
  });
  column("engine", [](const auto &t) { return t.engine; });
  column("instruction", [](const auto &t) { return t.index; });
  column("node", nodeOf);
  column("opcode", [&](const auto &t) { return opcodes(t.opcode); });
  opcodes.write(json, "opcodes");
  json.attributeArray("engines", [&] {
    for (const EngineStatistics &engine : statistics.engines)
      json.value(jsonText(engine.name));
  });
}

/// What instructions waited for: pairs of an instruction and its source, and
/// stalls as six numbers: engine, layer, instruction, cause, first cycle after
/// that of the stall before, cycles. Stalls at semaphores name an instruction
/// that the time line leaves out.
void writeWaits(OStream &json, const RunStatistics &statistics) {
  json.attributeArray("sources", [&] {
    for (const TimedInstruction &timed : statistics.timeline)
      for (uint32_t source : timed.sources) {
        json.value(timed.index);
        json.value(source);
      }
  });
  Names causes;
  llvm::DenseMap<uint32_t, const TimedInstruction *> instructions;
  for (const TimedInstruction &timed : statistics.timeline)
    instructions[timed.index] = &timed;
  uint64_t last = 0;
  json.attributeArray("stalls", [&] {
    for (const TimedStall &stall : statistics.stalls) {
      const TimedInstruction *timed = instructions.lookup(stall.index);
      if (!timed)
        continue;
      json.value(static_cast<int64_t>(timed->engine));
      json.value(nodeOf(*timed));
      json.value(stall.index);
      json.value(static_cast<int64_t>(causes(stall.cause)));
      json.value(static_cast<int64_t>(stall.begin - last));
      json.value(stall.end - stall.begin);
      last = stall.begin;
    }
  });
  causes.write(json, "causes");
}

void writePlacements(OStream &json, const RunStatistics &statistics) {
  json.attributeArray("placements", [&] {
    for (const PlacementStatistics &place : statistics.placements)
      json.object([&] {
        json.attribute("name", jsonText(place.name));
        json.attribute("node", jsonText(place.node));
        json.attribute("memory", place.inDram ? "dram" : "sb");
        json.attribute("at", place.offset);
        json.attribute("bytes", place.bytes);
        json.attribute("start", place.start);
        json.attribute("end", place.end);
      });
  });
}

/// How good the numbers are, where a run or the compiler has judged them.
void writeAccuracy(OStream &json, const PageContext &context) {
  if (context.outputs.empty() && context.layerSnr.empty())
    return;
  json.attributeObject("accuracy", [&] {
    json.attributeArray("outputs", [&] {
      for (const JudgedOutput &output : context.outputs)
        json.object([&] {
          json.attribute("name", jsonText(output.name));
          json.attribute("passed", output.passed);
          // JSON has no infinity: null means equal arrays.
          json.attributeBegin("snr_db");
          if (output.snrDb)
            json.value(*output.snrDb);
          else
            json.value(nullptr);
          json.attributeEnd();
          json.attribute("text", jsonText(output.text));
        });
    });
    json.attributeObject("layers", [&] {
      for (const auto &[name, snr] : context.layerSnr)
        json.attribute(jsonText(name), snr);
    });
  });
}

/// JSON inside a script element: no text of a model may end the element.
std::string harmless(llvm::StringRef json) {
  std::string text;
  text.reserve(json.size());
  for (char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

/// Text that is JSON, or an error that says what it should have been.
llvm::Error requireJson(llvm::StringRef text, llvm::StringRef what) {
  llvm::Expected<llvm::json::Value> parsed = support::parseJson(jsonText(text));
  if (!parsed)
    return withContext(parsed.takeError(), what.str());
  return llvm::Error::success();
}

llvm::Expected<std::string> dataOf(const RunStatistics &statistics,
                                   const PageContext &context) {
  llvm::Expected<std::string> report = toJson(statistics);
  if (!report)
    return report.takeError();
  const std::string plan = jsonText(statistics.planJson);
  if (!plan.empty())
    if (llvm::Error error =
            requireJson(plan, "the binary's numeric plan is not JSON"))
      return error;
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream);
  json.object([&] {
    json.attributeBegin("report");
    json.rawValue(*report);
    json.attributeEnd();
    if (!plan.empty()) {
      json.attributeBegin("plan");
      json.rawValue(plan);
      json.attributeEnd();
    }
    if (!context.baseline.empty()) {
      json.attributeBegin("baseline");
      json.rawValue(context.baseline);
      json.attributeEnd();
    }
    writeAccuracy(json, context);
    writePlacements(json, statistics);
    if (!statistics.timeline.empty())
      json.attributeObject("timeline", [&] {
        writeTimeline(json, statistics);
        writeWaits(json, statistics);
      });
  });
  return text;
}

} // namespace

llvm::Expected<std::string> report::toHtml(const RunStatistics &statistics,
                                           const PageContext &context) {
  llvm::Expected<std::string> data = dataOf(statistics, context);
  if (!data)
    return data.takeError();
  constexpr llvm::StringLiteral mark = "@DATA@";
  const auto [before, after] = llvm::StringRef(page).split(mark);
  return before.str() + harmless(*data) + after.str();
}

llvm::Error report::checkBaseline(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> parsed = support::parseJson(text);
  if (!parsed)
    return parsed.takeError();
  const llvm::json::Object *run = parsed->getAsObject();
  const llvm::json::Array *nodes = run ? run->getArray("nodes") : nullptr;
  if (!nodes || !run->getInteger("total_cycles") || !run->getString("model") ||
      !run->getString("machine"))
    return makeError(ErrorClass::Malformed, "{}",
                     "not a report of a run, expected what --report wrote");
  for (const llvm::json::Value &entry : *nodes) {
    const llvm::json::Object *node = entry.getAsObject();
    if (!node || !node->getString("name") || !node->getInteger("cycles") ||
        !node->getInteger("dram_read") || !node->getInteger("dram_write"))
      return makeError(ErrorClass::Malformed, "{}",
                       "a node has no name, cycles or DRAM bytes, expected "
                       "what --report wrote");
  }
  return llvm::Error::success();
}
