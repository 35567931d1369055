// SPDX-License-Identifier: Apache-2.0
#include "driver/models/input_values.h"

#include <algorithm>
#include <utility>

#include "base/did_you_mean.h"
#include "base/random.h"
#include "ir/evaluate/input_draws.h"

namespace egret::driver {
namespace {

using frontends::DeclaredInput;

// One argument of --input.
struct Argument {
  std::string text;  // "--input x=x.npy", for messages
  std::string path;
  std::size_t position = 0;  // of the input
};

std::string names_of(const std::vector<DeclaredInput>& inputs) {
  std::string text;
  for (const DeclaredInput& input : inputs) text += (text.empty() ? "'" : ", '") + input.name + "'";
  return text.empty() ? "it has none" : "its inputs are " + text;
}

base::Status no_such_input(const std::string& place, const std::string& name,
                           const std::vector<DeclaredInput>& inputs) {
  std::vector<std::string> names;
  for (const DeclaredInput& input : inputs) names.push_back(input.name);
  return base::usage_error(place + ": the model has no input '" + name + "'; " + names_of(inputs) +
                           base::did_you_mean(name, names));
}

base::Status lacks_type(const Argument& argument, const DeclaredInput& input) {
  return base::unsupported(argument.text + ": Egret lacks the type of input '" + input.name + "'");
}

// A name may contain "=", and so may a path: the longest name that an input has counts.
base::Result<Argument> parse(const std::string& text, const std::vector<DeclaredInput>& inputs,
                             std::size_t next) {
  Argument argument{.text = "--input " + text, .path = text, .position = next};
  std::size_t longest = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name;
    if (name.size() < longest || !text.starts_with(name + "=")) continue;
    longest = name.size();
    argument.position = i;
    argument.path = text.substr(name.size() + 1);
  }
  const auto equals = text.find('=');
  if (argument.path == text && equals != std::string::npos) {
    return no_such_input(argument.text, text.substr(0, equals), inputs);
  }
  if (argument.position >= inputs.size()) {
    return base::usage_error(argument.text + ": the model has " + std::to_string(inputs.size()) +
                             " inputs; " + names_of(inputs));
  }
  return argument;
}

// The tensor fits the declared type if its open sizes have these values; they are noted.
base::Status fit(const Argument& argument, const DeclaredInput& input, const ir::Tensor& tensor,
                 std::map<std::string, SizeFromInput>& sizes) {
  const auto other = [&] {
    const std::string what = argument.path.empty() ? " is " : ": '" + argument.path + "' contains ";
    return base::bad_input(argument.text + what + ir::to_string(tensor.type()) + ", input '" +
                           input.name + "' is " + ir::to_string(*input.type));
  };
  if (tensor.dtype() != input.type->dtype || tensor.type().rank() != input.type->rank())
    return other();
  const ir::Shape shape = tensor.shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const ir::Index declared = input.type->dims[axis];
    if (declared.is_constant()) {
      if (declared.constant() != shape[axis]) return other();
      continue;
    }
    const std::string symbol(declared.node()->name);
    const auto [known, is_new] =
        sizes.try_emplace(symbol, SizeFromInput{shape[axis], argument.text});
    if (!is_new && known->second.size != shape[axis]) {
      return base::usage_error(argument.text + ": axis " + std::to_string(axis) + " makes size '" +
                               symbol + "' " + std::to_string(shape[axis]) + ", but it is " +
                               std::to_string(known->second.size) + " by " + known->second.from);
    }
  }
  return base::ok();
}

}  // namespace

const base::OptionTable<InputOptions>& InputOptions::table() {
  static const base::OptionTable<InputOptions> rows{
      "inputs",
      {{"input", &InputOptions::input,
        "Values of an input instead of random ones, as NAME=FILE or FILE: .npy, .npz (member NAME, "
        "or the only one) or .pb (an ONNX tensor). Its sizes are those of open sizes. May be given "
        "for several inputs; run, bench and compare begin another run where an input is given "
        "again, and optimize begins another sample for its error budget. In the environment, a "
        "comma within a path is written \\,"}}};
  return rows;
}

namespace {

base::Result<std::vector<InputValues>> read_sets(const std::vector<DeclaredInput>& inputs,
                                                 const InputOptions& options, bool several) {
  std::vector<InputValues> sets(1);
  std::size_t next = 0;
  for (const std::string& text : options.input) {
    if (several && next == inputs.size() && text.find('=') == std::string::npos) next = 0;
    EGRET_ASSIGN_OR_RETURN(const Argument argument, parse(text, inputs, next));
    const DeclaredInput& input = inputs[argument.position];
    next = argument.position + 1;
    if (sets.back().values.contains(input.name)) {
      if (!several)
        return base::usage_error(argument.text + ": input '" + input.name + "' is given twice");
      sets.emplace_back();
    }
    InputValues& files = sets.back();
    if (!input.type) return lacks_type(argument, input);
    auto tensor = frontends::read_tensor_file(argument.path, input.name);
    if (!tensor.ok()) return tensor.status().at("--input");
    EGRET_RETURN_IF_ERROR(fit(argument, input, *tensor, files.sizes));
    files.values.emplace(input.name, *std::move(tensor));
  }
  return sets;
}

}  // namespace

base::Result<InputValues> read_inputs(const std::vector<DeclaredInput>& inputs,
                                      const InputOptions& options) {
  EGRET_ASSIGN_OR_RETURN(std::vector<InputValues> sets, read_sets(inputs, options, false));
  return std::move(sets.front());
}

base::Result<std::vector<InputValues>> read_input_sets(const ModelSource& source,
                                                       const InputOptions& options) {
  if (options.input.empty()) return std::vector<InputValues>(1);
  EGRET_ASSIGN_OR_RETURN(const std::vector<DeclaredInput> inputs, declared_inputs(source));
  return read_sets(inputs, options, true);
}

base::Result<InputValues> read_inputs(const ModelSource& source, const InputOptions& options) {
  if (options.input.empty()) return InputValues();
  EGRET_ASSIGN_OR_RETURN(const std::vector<DeclaredInput> inputs, declared_inputs(source));
  return read_inputs(inputs, options);
}

base::Result<InputValues> fit_inputs(const std::vector<DeclaredInput>& inputs,
                                     const ir::GivenInputs& values) {
  InputValues given;
  for (const auto& [name, tensor] : values) {
    const auto input = std::ranges::find(inputs, name, &DeclaredInput::name);
    if (input == inputs.end()) return no_such_input("input '" + name + "'", name, inputs);
    Argument argument;
    argument.text = "the value of input '" + name + "'";
    if (!input->type) return lacks_type(argument, *input);
    EGRET_RETURN_IF_ERROR(fit(argument, *input, tensor, given.sizes));
    given.values.emplace(name, tensor);
  }
  return given;
}

base::Result<std::vector<std::string>> bind_given(std::vector<std::string> bind,
                                                  const InputValues& given) {
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(bind));
  for (const auto& [symbol, size] : given.sizes) {
    const auto found = bound.find(symbol);
    if (found == bound.end()) {
      bind.push_back(symbol + "=" + std::to_string(size.size));
    } else if (found->second != size.size) {
      return base::usage_error("--bind " + symbol + "=" + std::to_string(found->second) +
                               ", but the size is " + std::to_string(size.size) + " by " +
                               size.from);
    }
  }
  return bind;
}

std::vector<ir::Tensor> model_inputs(const ir::Graph& graph, const ir::GivenInputs& given,
                                     std::int64_t seed) {
  base::Random random(static_cast<std::uint64_t>(seed));
  std::vector<ir::Tensor> inputs = ir::random_inputs(graph, random);
  ir::put_given(graph, given, inputs);
  return inputs;
}

base::Result<std::vector<ir::Tensor>> model_inputs(const ir::Graph& graph,
                                                   const InputOptions& options, std::int64_t seed) {
  std::vector<DeclaredInput> declared;
  for (const ir::NodeId id : graph.inputs())
    declared.push_back({graph.node(id).name, graph.node(id).type});
  EGRET_ASSIGN_OR_RETURN(const InputValues files, read_inputs(declared, options));
  return model_inputs(graph, files.values, seed);
}

}  // namespace egret::driver
