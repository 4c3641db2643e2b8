// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small ONNX models as bytes, written without protobuf: tests of the libraries
// see their interfaces alone.

#ifndef ASHLAR_TEST_UNIT_API_ONNXBYTES_H
#define ASHLAR_TEST_UNIT_API_ONNXBYTES_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// A graph of float tensors without constants.
class OnnxGraph {
public:
  OnnxGraph &input(const std::string &name, const std::vector<int64_t> &shape) {
    graph += part(11, value(name, shape));
    return *this;
  }
  OnnxGraph &output(const std::string &name,
                    const std::vector<int64_t> &shape) {
    graph += part(12, value(name, shape));
    return *this;
  }
  OnnxGraph &
  node(const std::string &op, const std::vector<std::string> &inputs,
       const std::string &output,
       const std::vector<std::pair<std::string, int64_t>> &attributes = {}) {
    std::string text;
    for (const std::string &name : inputs)
      text += part(1, name);
    text += part(2, output) + part(3, output) + part(4, op);
    for (const auto &[name, number] : attributes)
      text += part(5, part(1, name) + count(3, static_cast<uint64_t>(number)) +
                          count(20, 2));
    graph += part(1, text);
    return *this;
  }

  std::vector<uint8_t> bytes() const {
    const std::string model = count(1, 8) + part(7, part(2, "g") + graph) +
                              part(8, part(1, "") + count(2, 13));
    return {model.begin(), model.end()};
  }

private:
  static std::string varint(uint64_t number) {
    std::string text;
    for (; number >= 128; number /= 128)
      text += static_cast<char>(number % 128 + 128);
    return text + static_cast<char>(number);
  }
  static std::string count(unsigned field, uint64_t number) {
    return varint(field * 8) + varint(number);
  }
  static std::string part(unsigned field, const std::string &content) {
    return varint(field * 8 + 2) + varint(content.size()) + content;
  }
  static std::string value(const std::string &name,
                           const std::vector<int64_t> &shape) {
    std::string extents;
    for (const int64_t extent : shape)
      extents += part(1, count(1, static_cast<uint64_t>(extent)));
    return part(1, name) + part(2, part(1, count(1, 1) + part(2, extents)));
  }

  std::string graph;
};

} // namespace test

#endif // ASHLAR_TEST_UNIT_API_ONNXBYTES_H
