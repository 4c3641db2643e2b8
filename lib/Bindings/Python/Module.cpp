// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extension module ashlar._ashlar: the C++ interface with numpy arrays.
// Arrays go in as views of numpy's memory and come out as arrays that own what
// the run has made. What Python programs see is tools/python/ashlar.

#include "ashlar/Api/Compiler.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

namespace py = pybind11;
using namespace ashlar::api;

namespace {

/// Raises the class of ashlar._errors that belongs to the code.
[[noreturn]] void raise(const Error &error) {
  py::module_::import("ashlar._errors")
      .attr("raise_error")(static_cast<int>(error.code), error.message);
  throw std::logic_error("ashlar._errors.raise_error returned");
}

[[noreturn]] void raise(ErrorCode code, std::string message) {
  raise(Error{code, std::move(message)});
}

template <typename T>
T take(Result<T> result) {
  if (!result)
    raise(result.error());
  return std::move(*result);
}

/// numpy's name of a type; it has no bfloat16, which travels as its bits.
const char *numpyName(ElementType type) {
  static const char *const names[] = {
      "float32", "float16", "uint16", "int8",   "uint8", "int16",  "uint16",
      "int32",   "uint32",  "int64",  "uint64", "bool",  "float64"};
  return names[static_cast<unsigned>(type)];
}

ElementType elementTypeOf(const std::string &name, const py::array &array) {
  const char kind = array.dtype().kind();
  const py::ssize_t size = array.itemsize();
  if (kind == 'b')
    return ElementType::Bool;
  if (kind == 'f' && (size == 2 || size == 4 || size == 8))
    return size == 2   ? ElementType::F16
           : size == 4 ? ElementType::F32
                       : ElementType::F64;
  if (kind == 'i' && size <= 8)
    return size == 1   ? ElementType::I8
           : size == 2 ? ElementType::I16
           : size == 4 ? ElementType::I32
                       : ElementType::I64;
  if (kind == 'u' && size <= 8)
    return size == 1   ? ElementType::U8
           : size == 2 ? ElementType::U16
           : size == 4 ? ElementType::U32
                       : ElementType::U64;
  raise(ErrorCode::Malformed, "array '" + name + "' has the dtype " +
                                  std::string(py::str(array.dtype())) +
                                  ", expected a float, an integer or bool");
}

/// Views of numpy arrays, which it keeps: what is not row major without gaps
/// is copied.
class Views {
public:
  explicit Views(const py::dict &arrays) {
    for (auto [key, value] : arrays) {
      if (!py::isinstance<py::str>(key))
        raise(ErrorCode::Usage, "the name of an array is " +
                                    std::string(py::repr(key)) +
                                    ", expected a string");
      names.push_back(py::cast<std::string>(key));
      if (!py::isinstance<py::array>(value))
        raise(ErrorCode::Usage, "'" + names.back() + "' is a " +
                                    std::string(py::str(py::type::of(value))) +
                                    ", expected a numpy array");
      kept.push_back(py::array::ensure(value, py::array::c_style));
      if (!kept.back())
        throw py::error_already_set();
    }
    for (size_t i = 0; i < kept.size(); ++i) {
      shapes.emplace_back(kept[i].shape(), kept[i].shape() + kept[i].ndim());
      ArrayView view;
      view.name = names[i];
      view.type = elementTypeOf(names[i], kept[i]);
      view.data = kept[i].data();
      view.bytes = static_cast<size_t>(kept[i].nbytes());
      views.push_back(view);
    }
    for (size_t i = 0; i < kept.size(); ++i)
      views[i].shape = shapes[i];
  }

  const std::vector<ArrayView> &get() const { return views; }

private:
  std::vector<std::string> names;
  std::vector<py::array> kept;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<ArrayView> views;
};

/// A numpy array that owns \p array.
py::array toNumpy(Array array) {
  auto *owned = new Array(std::move(array));
  py::capsule owner(owned,
                    [](void *memory) { delete static_cast<Array *>(memory); });
  return py::array(py::dtype(numpyName(owned->type)), owned->shape,
                   owned->data.data(), owner);
}

py::list describe(const std::vector<TensorInfo> &tensors) {
  py::list list;
  for (const TensorInfo &tensor : tensors)
    list.append(py::make_tuple(tensor.name, typeName(tensor.type),
                               py::tuple(py::cast(tensor.shape))));
  return list;
}

py::dict takeOutputs(RunResult &result) {
  py::dict outputs;
  for (Array &array : result.takeOutputs()) {
    py::str name(array.name);
    outputs[name] = toNumpy(std::move(array));
  }
  return outputs;
}

RunResult run(Program &program, const py::dict &inputs, unsigned threads,
              const std::string &kernels, bool timing, bool timeline,
              const std::string &energyTable) {
  Views views(inputs);
  RunOptions options;
  options.threads = threads;
  options.kernels = kernels;
  options.timing = timing;
  options.timeline = timeline;
  options.energyTable = energyTable;
  std::optional<Result<RunResult>> result;
  {
    py::gil_scoped_release release;
    result.emplace(program.run(views.get(), options));
  }
  return take(std::move(*result));
}

py::tuple compileModel(const py::object &model, const std::string &name,
                       std::vector<std::pair<std::string, std::string>> options,
                       const py::dict &calibration, const py::dict &constants) {
  Views samples(calibration), fixed(constants);
  CompileOptions how;
  how.options = std::move(options);
  how.calibration = samples.get();
  how.constants = fixed.get();
  std::optional<Result<Compiled>> result;
  if (py::isinstance<py::bytes>(model)) {
    const auto bytes = py::cast<std::string_view>(model);
    const auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
    py::gil_scoped_release release;
    result.emplace(compile({data, bytes.size()}, name, how));
  } else {
    const auto path = py::cast<std::string>(model);
    py::gil_scoped_release release;
    result.emplace(compile(path, how));
  }
  Compiled compiled = take(std::move(*result));
  return py::make_tuple(std::move(compiled.program), compiled.report,
                        compiled.formats);
}

Program loadBytes(const py::bytes &bytes, const std::string &machine,
                  uint64_t maxMemory) {
  const auto view = py::cast<std::string_view>(bytes);
  const auto *data = reinterpret_cast<const uint8_t *>(view.data());
  LoadOptions options;
  options.machine = machine;
  options.maxMemory = maxMemory;
  return take(Program::fromBytes({data, data + view.size()}, options));
}

Program loadFile(const std::string &path, const std::string &machine,
                 uint64_t maxMemory) {
  LoadOptions options;
  options.machine = machine;
  options.maxMemory = maxMemory;
  return take(Program::load(path, options));
}

} // namespace

PYBIND11_MODULE(_ashlar, module) {
  module.doc() = "The libraries of Ashlar; use the package ashlar.";
  module.def("version", &version);
  module.def("load", &loadFile);
  module.def("from_bytes", &loadBytes);
  module.def("compile", &compileModel);

  py::class_<RunResult>(module, "RunResult")
      .def("take_outputs", &takeOutputs)
      .def("samples", &RunResult::samples)
      .def("cycles", &RunResult::cycles)
      .def("warnings", &RunResult::warnings)
      .def("report",
           [](const RunResult &result) { return take(result.report()); })
      .def("html", [](const RunResult &result) { return take(result.html()); });

  py::class_<Program>(module, "Program")
      .def("run", &run)
      .def("reset_state", &Program::resetState)
      .def("save", [](const Program &program,
                      const std::string &path) { take(program.save(path)); })
      .def("bytes",
           [](const Program &program) {
             auto bytes = program.bytes();
             return py::bytes(reinterpret_cast<const char *>(bytes.data()),
                              bytes.size());
           })
      .def("inputs",
           [](const Program &program) { return describe(program.inputs()); })
      .def("outputs",
           [](const Program &program) { return describe(program.outputs()); })
      .def("model", &Program::modelName)
      .def("machine", &Program::machineName);
}
