// SPDX-License-Identifier: BSD-3-Clause
// Six functions of the CUDA driver API, declared here as cuda.h has them
// (all return CUresult, an int; 0 is success).
#include "core/observe/gpu_facts.h"

#include <dlfcn.h>

#include <titan/text.h>

namespace titan {
namespace {

// CUdevice_attribute numbers of cuda.h.
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*version)(int* version) = nullptr;
  int (*count)(int* count) = nullptr;
  int (*name)(char* name, int size, int device) = nullptr;
  int (*memory)(size_t* bytes, int device) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;
};

template <typename Function>
bool load(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool load_driver(void* library, Driver& driver) {
  return load(library, "cuInit", driver.init) &&
         load(library, "cuDriverGetVersion", driver.version) &&
         load(library, "cuDeviceGetCount", driver.count) &&
         load(library, "cuDeviceGetName", driver.name) &&
         load(library, "cuDeviceTotalMem_v2", driver.memory) &&
         load(library, "cuDeviceGetAttribute", driver.attribute);
}

GpuFacts read_gpu(const Driver& driver, int device) {
  GpuFacts gpu;
  char name[256] = "";
  driver.name(name, sizeof(name), device);
  gpu.name = name;
  size_t bytes = 0;
  driver.memory(&bytes, device);
  gpu.memory_bytes = static_cast<int64_t>(bytes);
  driver.attribute(&gpu.capability_major, kCapabilityMajor, device);
  driver.attribute(&gpu.capability_minor, kCapabilityMinor, device);
  return gpu;
}

}  // namespace

GpuProbe probe_nvidia_gpus() {
  GpuProbe probe;
  // Never closed: the driver does not survive being unloaded after cuInit.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    probe.why_none = "no NVIDIA driver (libcuda.so.1 is not installed)";
    return probe;
  }
  Driver driver;
  if (!load_driver(library, driver)) {
    probe.why_none = "libcuda.so.1 lacks functions of CUDA 11 or newer";
    return probe;
  }
  driver.version(&probe.driver_cuda_version);
  const int result = driver.init(0);
  int num_gpus = 0;
  if (result != 0 || driver.count(&num_gpus) != 0) {
    probe.why_none =
        text("the NVIDIA driver does not start (cuInit gave ", result, ")");
    return probe;
  }
  for (int device = 0; device < num_gpus; ++device) {
    probe.gpus.push_back(read_gpu(driver, device));
  }
  if (num_gpus == 0) probe.why_none = "the NVIDIA driver sees no GPU";
  return probe;
}

}  // namespace titan
