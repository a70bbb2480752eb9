// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include <titan/sdk.hpp>

#include "tests/unit/plugin_api/loaded_plugin.h"

namespace {

const symbolic::LoadedPlugin& kernel_plugin() {
  static const symbolic::LoadedPlugin loaded(
      "tests/abi/written_with_sdk/libexample_swiglu.so");
  return loaded;
}

const titan_kernel_table& kernel_table() {
  return kernel_plugin().table<titan_kernel_table>();
}

titan_object* kernel() {
  titan_object* out = nullptr;
  titan::detail::HostError error;
  titan::detail::check(
      kernel_table().create(&symbolic::host_api(), nullptr, &out, error),
      error);
  return out;
}

titan_tensor floats(const std::vector<float>& values) {
  titan_tensor out =
      symbolic::make("floats", {static_cast<int64_t>(values.size())});
  auto& bytes = symbolic::data_of(out).bytes;
  bytes.resize(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return out;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the documented kernel computes SwiGLU", "[unit]") {
  titan_object* object = kernel();
  const titan_tensor in[] = {floats({0, 1, -2}), floats({5, 2, 3})};
  const titan_tensor out[] = {floats({9, 9, 9})};
  titan_call call{};
  call.struct_size = sizeof(call);
  call.num_in = 2;
  call.num_out = 1;
  call.in = in;
  call.out = out;
  titan::detail::HostError error;
  titan::detail::check(kernel_table().forward(object, &call, error), error);
  const float* y = titan::TensorView(out[0]).data<float>();
  CHECK(y[0] == 0);
  CHECK(y[1] == Approx(2 / (1 + std::exp(-1.0))));
  CHECK(y[2] == Approx(-6 / (1 + std::exp(2.0))));
  call.num_out = 0;
  CHECK(kernel_table().forward(object, &call, error) == titan::kInternal);
  kernel_table().destroy(object);
  for (titan_tensor tensor : {in[0], in[1], out[0]})
    symbolic::host_api().tensor->release(tensor);
}

TEST_CASE("a kernel's score refuses with a reason", "[unit]") {
  titan_object* object = kernel();
  const int64_t dims[] = {4, 8};
  titan_tensor_spec spec{};
  spec.dims = dims;
  spec.num_dims = 2;
  const titan_tensor_spec* in[] = {&spec, &spec};
  std::string reason;
  const titan_text_sink sink{
      sizeof(titan_text_sink), 0, &reason, [](void* self, titan_str piece) {
        *static_cast<std::string*>(self) += titan::detail::view(piece);
      }};
  CHECK(kernel_table().score(object, in, 2, nullptr, 0, &sink) == 0);
  CHECK(reason == "strided input");
  spec.flags = TITAN_TENSOR_CONTIGUOUS;
  CHECK(kernel_table().score(object, in, 2, nullptr, 0, nullptr) == 100);
  // A score that throws is a refusal with the exception's text.
  reason.clear();
  CHECK(kernel_table().score(object, in, 0, nullptr, 0, &sink) == 0);
  CHECK(reason.find("no input 0") != std::string::npos);
  kernel_table().destroy(object);
}

TEST_CASE("a kernel without backward says so in its match", "[unit]") {
  CHECK(kernel_table().backward == nullptr);
  CHECK((kernel_table().match->flags & TITAN_KERNEL_HAS_BACKWARD) == 0);
  CHECK(kernel_table().match->dtype_mask == uint64_t{1} << TITAN_DTYPE_F32);
}

TEST_CASE("the ELF note says what the table says", "[unit]") {
  const std::string file = bytes_of(kernel_plugin().path);
  const std::size_t begin = file.find(R"({"name":"acme.swiglu")");
  REQUIRE(begin != std::string::npos);
  uint32_t size = 0;
  std::memcpy(&size, file.data() + begin - 16, sizeof(size));
  const auto manifest = titan::Json::parse(file.substr(begin, size));
  const titan_plugin& table = kernel_plugin().description;
  CHECK(manifest.at("name").str() == titan::detail::view(table.name));
  CHECK(manifest.at("version").str() == titan::detail::view(table.version));
  CHECK(manifest.at("abi").at("major").i64() == TITAN_ABI_MAJOR);
  const titan::Json& component = manifest.at("components").at(std::size_t{0});
  CHECK(component.at("id").str() ==
        titan::detail::view(kernel_plugin().component().id));
  CHECK(component.at("op").str() == "titan.swiglu/1");
  CHECK(component.at("dtypes").dump() == R"(["f32"])");
  CHECK(component.at("priority").i64() == 500);
}

TEST_CASE("the entry point fills only what an older host has room for",
          "[unit]") {
  struct {
    titan_plugin plugin;
    uint64_t guard = 0x5a5a5a5a5a5a5a5a;
  } old;
  std::memset(&old.plugin, 0x5a, sizeof(old.plugin));
  old.plugin.struct_size = offsetof(titan_plugin, get_interface);
  void* library = dlopen(kernel_plugin().path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry = reinterpret_cast<titan_plugin_entry_fn>(
      dlsym(library, "titan_plugin_entry_v1"));
  titan::detail::HostError error;
  REQUIRE(entry(&symbolic::host_api(), &old.plugin, error) == 0);
  CHECK(old.plugin.struct_size == offsetof(titan_plugin, get_interface));
  CHECK(old.plugin.num_components == 1);
  uint64_t beyond = 0;
  std::memcpy(&beyond, &old.plugin.get_interface, sizeof(beyond));
  CHECK(beyond == old.guard);
}

namespace {

struct EchoPlanner {
  static constexpr std::string_view kPhase = "data";
  titan::Json plan(const titan::Json& request) const {
    titan::Json out = titan::Json::object();
    out["buckets"] = request.at("layers");
    return out;
  }
};

}  // namespace

TEST_CASE("a planner speaks JSON text through its table", "[unit]") {
  const titan::detail::PlannerTable<EchoPlanner> holder(0);
  const auto& planner = *static_cast<const titan_parallel_table*>(holder.get());
  titan_object* object = nullptr;
  titan::detail::HostError error;
  REQUIRE(planner.create(&symbolic::host_api(), nullptr, &object, error) == 0);
  std::string plan;
  const titan_text_sink sink{
      sizeof(titan_text_sink), 0, &plan, [](void* self, titan_str piece) {
        *static_cast<std::string*>(self) += titan::detail::view(piece);
      }};
  const auto ask = [&](std::string_view request) {
    return planner.plan(object, titan::detail::str(request), &sink, error);
  };
  CHECK(ask(R"({"layers":[1,2]})") == 0);
  CHECK(plan == R"({"buckets":[1,2]})");
  CHECK(ask("{") == titan::kInvalidArgument);
  planner.destroy(object);
}
