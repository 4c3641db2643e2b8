// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface to drivers.

#include "COptions.h"
#include "ashlar/Api/C/Driver.h"
#include "ashlar/Api/Driver.h"

#include <mutex>
#include <set>

using namespace ashlar;
using namespace ashlar::detail;

struct ashlar_driver {
  api::Driver value;
  std::mutex mutex;
  std::set<std::string> names; ///< Those that callers have pointers to.

  const char *keep(const std::string &name) {
    std::lock_guard<std::mutex> lock(mutex);
    return names.insert(name).first->c_str();
  }
};

namespace {

/// A structure of the caller that is shorter than what is written to it.
template <typename Struct>
std::optional<api::Error> checkSize(const Struct &given, const char *name) {
  if (given.size >= sizeof(Struct))
    return std::nullopt;
  return api::Error{api::ErrorCode::Usage,
                    "size of the " + std::string(name) + " is " +
                        std::to_string(given.size) + ", expected sizeof(" +
                        name + ")"};
}

/// The values of an enumeration that a C caller wrote: any number.
template <typename Cpp, typename C>
Cpp readEnum(const C &value) {
  static_assert(sizeof(C) == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof number);
  return static_cast<Cpp>(number < 0 || number > 255 ? 255 : number);
}

api::Result<api::StartOptions> readStart(const ashlar_start &start) {
  api::StartOptions how;
  if (auto wrong = readRun(start.options, how.run))
    return *wrong;
  if (start.num_feeds > 0 && !start.feeds)
    return api::Error{api::ErrorCode::Usage, "feeds is a null pointer"};
  for (size_t i = 0; i < start.num_feeds; ++i) {
    const ashlar_feed &feed = start.feeds[i];
    if (!feed.input || !feed.output)
      return api::Error{api::ErrorCode::Usage,
                        "feed " + std::to_string(i) + " has no name"};
    how.feeds.push_back({feed.input, feed.run, feed.output});
  }
  if (start.condition_output)
    how.condition = {start.condition_run, start.condition_output,
                     readEnum<api::Comparison>(start.comparison),
                     start.condition_value};
  return how;
}

ashlar_code giveState(api::Result<api::RunState> result,
                      ashlar_run_state *state, ashlar_error **error) {
  if (!result)
    return fail(error, result.error());
  *state = static_cast<ashlar_run_state>(*result);
  return ASHLAR_OK;
}

ashlar_code giveStatus(const api::Status &status, ashlar_error **error) {
  return status ? ASHLAR_OK : fail(error, status.error());
}

} // namespace

ashlar_code ashlar_driver_create(const ashlar_options *options,
                                 ashlar_driver **out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!out)
      return failNull(error, "out");
    *out = nullptr;
    api::DriverOptions how;
    auto wrong =
        readOptions(options, "accelerators, dram",
                    [&](const std::string &name, const std::string &value) {
                      if (name == "accelerators")
                        return readNumber(value, how.accelerators);
                      if (name == "dram")
                        return readNumber(value, how.dramBytes);
                      return std::string("unknown");
                    });
    if (wrong)
      return fail(error, *wrong);
    auto driver = api::Driver::create(how);
    if (!driver)
      return fail(error, driver.error());
    *out = new ashlar_driver{std::move(*driver), {}, {}};
    return ASHLAR_OK;
  });
}

void ashlar_driver_destroy(ashlar_driver *driver) { delete driver; }

ashlar_code ashlar_driver_load(ashlar_driver *driver, const char *path,
                               const ashlar_options *options, uint32_t *program,
                               ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver || !path || !program)
      return failNull(error, !driver ? "driver" : !path ? "path" : "program");
    api::LoadOptions load;
    if (auto wrong = readLoad(options, load))
      return fail(error, *wrong);
    auto loaded = driver->value.load(path, load);
    if (!loaded)
      return fail(error, loaded.error());
    *program = *loaded;
    return ASHLAR_OK;
  });
}

ashlar_code ashlar_driver_unload(ashlar_driver *driver, uint32_t program,
                                 ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver)
      return failNull(error, "driver");
    return giveStatus(driver->value.unload(program), error);
  });
}

ashlar_code ashlar_driver_start(ashlar_driver *driver,
                                const ashlar_start *start, uint64_t *run,
                                ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver || !start || !run)
      return failNull(error, !driver ? "driver" : !start ? "start" : "run");
    if (auto wrong = checkSize(*start, "ashlar_start"))
      return fail(error, *wrong);
    auto how = readStart(*start);
    if (!how)
      return fail(error, how.error());
    auto views = viewArrays(start->inputs, start->num_inputs, "inputs");
    if (!views)
      return fail(error, views.error());
    auto started = driver->value.start(start->program, *views, *how);
    if (!started)
      return fail(error, started.error());
    *run = *started;
    return ASHLAR_OK;
  });
}

ashlar_code ashlar_driver_poll(ashlar_driver *driver, uint64_t run,
                               ashlar_run_state *state, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver || !state)
      return failNull(error, !driver ? "driver" : "state");
    return giveState(driver->value.poll(run), state, error);
  });
}

ashlar_code ashlar_driver_wait(ashlar_driver *driver, uint64_t run,
                               ashlar_run_state *state, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver || !state)
      return failNull(error, !driver ? "driver" : "state");
    return giveState(driver->value.wait(run), state, error);
  });
}

ashlar_code ashlar_driver_take(ashlar_driver *driver, uint64_t run,
                               ashlar_result **out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver || !out)
      return failNull(error, !driver ? "driver" : "out");
    *out = nullptr;
    auto result = driver->value.take(run);
    if (!result)
      return fail(error, result.error());
    *out = new ashlar_result{std::move(*result), std::nullopt};
    return ASHLAR_OK;
  });
}

ashlar_code ashlar_driver_descriptor(ashlar_driver *driver, uint64_t run,
                                     size_t index, ashlar_descriptor *out,
                                     ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver || !out)
      return failNull(error, !driver ? "driver" : "out");
    if (auto wrong = checkSize(*out, "ashlar_descriptor"))
      return fail(error, *wrong);
    auto all = driver->value.descriptors(run);
    if (!all)
      return fail(error, all.error());
    if (index >= all->size())
      return fail(error,
                  {api::ErrorCode::Usage,
                   "there is no descriptor " + std::to_string(index) +
                       ", expected less than " + std::to_string(all->size())});
    const api::Descriptor &own = (*all)[index];
    out->to_device = own.direction == api::Descriptor::Direction::ToDevice;
    out->tensor = driver->keep(own.tensor);
    out->address = own.address;
    out->bytes = own.bytes;
    return ASHLAR_OK;
  });
}

ashlar_code ashlar_driver_span(ashlar_driver *driver, uint64_t run,
                               ashlar_span *out, ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver || !out)
      return failNull(error, !driver ? "driver" : "out");
    if (auto wrong = checkSize(*out, "ashlar_span"))
      return fail(error, *wrong);
    auto span = driver->value.span(run);
    if (!span)
      return fail(error, span.error());
    out->accelerator = span->accelerator;
    out->begin = span->begin;
    out->end = span->end;
    return ASHLAR_OK;
  });
}

ashlar_code ashlar_driver_release(ashlar_driver *driver, uint64_t run,
                                  ashlar_error **error) {
  return callFromC(error, [&]() -> ashlar_code {
    if (!driver)
      return failNull(error, "driver");
    return giveStatus(driver->value.release(run), error);
  });
}
