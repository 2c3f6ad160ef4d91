// The Python module: its activation, and what it asks of tensors and storages.
#include "python/bindings.h"

#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/boxed.h"
#include "dispatch/determinism.h"
#include "engine/builtin_kernels.h"
#include "engine/engine.h"
#include "engine/registrar.h"
#include "engine/reports.h"
#include "mac/mac.h"
#include "mac/rules.h"
#include "metal/metal.h"
#include "operators/attention.h"
#include "operators/copy.h"
#include "operators/foreach.h"
#include "operators/layers.h"
#include "operators/random.h"
#include "operators/recurrent.h"
#include "operators/typed_operators.h"
#include "profiler/profiler.h"
#include "tensor/allocation_tracker.h"
#include "tensor/header.h"
#include "tensor/lazy_bytes.h"
#include "tensor/twin.h"
#include "tensor/write_watch.h"
#include "torch_interfaces/hooks.h"
#include "torch_interfaces/one_accelerator.h"

namespace openmps {

py::str text(const std::string& value) {
  auto* decoded =
      PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

namespace {

PyObject* g_kernel_finder = nullptr;
PyObject* g_driver_finder = nullptr;

// Asks Python for an address; None is null. Whoever asks keeps the answer, so the GIL may be taken
// here.
template <class... Arguments>
void* ask_for_address(PyObject* finder, const char* format, Arguments... arguments) {
  const auto gil = PyGILState_Ensure();
  auto* found = PyObject_CallFunction(finder, format, arguments...);
  void* address = found == nullptr || found == Py_None ? nullptr : PyLong_AsVoidPtr(found);
  Py_XDECREF(found);
  if (PyErr_Occurred() != nullptr) {
    python_error error;
    error.persist();  // needs the GIL, and the destructor takes it by itself
    PyGILState_Release(gil);
    throw error;
  }
  PyGILState_Release(gil);
  return address;
}

void* find_kernel_code(const char* name) { return ask_for_address(g_kernel_finder, "s", name); }

const void* find_driver() { return ask_for_address(g_driver_finder, ""); }

using Names = std::vector<std::string>;

void activate(const std::string& engine_name, size_t recommended_max_bytes, size_t max_buffer_bytes,
              unsigned macos_major, unsigned macos_minor, bool strict, const Names& dense,
              const Names& sparse, const Names& on_cpu) {
  g_mac = {recommended_max_bytes, max_buffer_bytes, macos_major, macos_minor};
  g_strict = strict;
  choose_engine(engine_name);
  hide_other_accelerators();
  install_hooks();
  register_vmapped_attention();
  g_find_kernel_code = find_kernel_code;
  g_find_driver = find_driver;
  const bool draws_poisson = std::find(dense.begin(), dense.end(), "aten::poisson") != dense.end();
  Registrar registrar;  // the engine comes first, and what it brings stays
  engine().register_operators(registrar);
  register_random_operators(registrar, draws_poisson);
  register_layers(registrar);
  register_recurrent(registrar);
  register_copies(registrar);
  register_foreach_operators(registrar);
  register_typed_operators(registrar);
  register_boxed_kernels({dense, sparse, on_cpu});
}

uintptr_t connect_extensions(uintptr_t shader_calls) {
  TORCH_CHECK_VALUE(shader_calls != 0, "connect_metal: expected an address");
  return reinterpret_cast<uintptr_t>(
      connect_metal(reinterpret_cast<const ShaderCalls*>(shader_calls)));
}

// Natively _mps_host_alias_storage: a CPU storage over the bytes of an mps storage.
PyObject* host_alias_storage(PyObject*, PyObject* object) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(THPStorage_Check(object),
                   "_mps_host_alias_storage: expected a torch.UntypedStorage");
  const auto& mps = THPStorage_Unpack(object);
  TORCH_CHECK_VALUE(mps.device().is_mps(),
                    "getHostAliasStorage: expected an MPS storage, got device=", mps.device());
  write_lazy_bytes(mps);
  TORCH_CHECK(twin_of(*mps.unsafeGetStorageImpl()) != nullptr,
              "getHostAliasStorage: storage was not allocated by the MPSAllocator");
  TORCH_CHECK(engine().shares_memory_with_host(),
              "getHostAliasStorage: storage is not backed by a shared (unified) MTLBuffer");
  engine().move_for_shaders(mps);  // while nobody knows where they are
  c10::DataPtr data(
      mps.mutable_data(), new c10::Storage(mps),
      [](void* owner) { delete static_cast<c10::Storage*>(owner); }, c10::Device(c10::kCPU));
  return THPStorage_Wrap(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(mps.nbytes())),
      std::move(data), /*allocator=*/nullptr, /*resizable=*/false));
  END_HANDLE_TH_ERRORS
}

PyObject* extent(void* address, size_t bytes) {
  return Py_BuildValue("NN", PyLong_FromVoidPtr(address), PyLong_FromSize_t(bytes));
}

// (address, bytes) of an mps tensor: from its first element to its storage's end; None for a tensor
// of another device. Here and not in Python, because modes such as torch.set_default_device would
// make each question a Python call.
PyObject* tensor_extent(PyObject*, PyObject* object) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(THPVariable_Check(object), "tensor_extent: expected a torch.Tensor");
  const auto& tensor = THPVariable_Unpack(object);
  if (!is_mps(tensor)) Py_RETURN_NONE;
  void* address = tensor.mutable_data_ptr();
  about_to_write(*tensor.storage().unsafeGetStorageImpl());
  if (address != nullptr && engine().move_for_shaders(tensor.storage()))
    address = tensor.mutable_data_ptr();
  TORCH_CHECK(address != nullptr || tensor.numel() == 0,
              "a Metal kernel was given a tensor without memory, such as a FakeTensor");
  const auto offset = static_cast<size_t>(tensor.storage_offset()) * tensor.itemsize();
  return extent(address, tensor.storage().nbytes() - offset);
  END_HANDLE_TH_ERRORS
}

// (address, bytes) of what Metal kernels report errors to.
PyObject* error_buffer(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  return extent(report_buffer(), report_buffer_bytes());
  END_HANDLE_TH_ERRORS
}

// Whether an optimizer's lists, weights and gradients first, are of usual tensors, one for each
// weight.
bool may_group(const py::list& lists) {
  if (profiler::wants(profiler::Kind::kOperation)) return false;
  const auto count = py::len(lists[0]);
  for (size_t i = 0; i < lists.size(); ++i) {
    const auto list = py::cast<py::list>(lists[i]);
    if (list.size() != count) return false;
    for (const auto each : list) {
      if (!THPVariable_CheckExact(each.ptr())) return false;
      const auto& tensor = THPVariable_Unpack(each.ptr());
      constexpr size_t kGradients = 1;
      if (i <= kGradients && !(is_mps(tensor) && is_plain(tensor) &&
                               is_common_float(tensor.scalar_type()) && !tensor.is_neg())) {
        return false;
      }
    }
  }
  return true;
}

// Without pybind11: the first is of the same kind as torch's own on a Mac, and each launch of a
// Metal kernel calls the others, for which pybind11 takes 30 ns longer.
PyMethodDef g_plain_methods[] = {
    {"host_alias_storage", host_alias_storage, METH_O, "host_alias_storage(storage, /)\n--\n\n"},
    {"tensor_extent", tensor_extent, METH_O, "tensor_extent(tensor, /)\n--\n\n"},
    {"error_buffer", error_buffer, METH_NOARGS, "error_buffer()\n--\n\n"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace
}  // namespace openmps

PYBIND11_MODULE(openmps_core, module) {
  using namespace openmps;
  if (PyModule_AddFunctions(module.ptr(), g_plain_methods) != 0) throw py::error_already_set();
  define(module, "provide_kernels",
         [](py::object find) { g_kernel_finder = find.release().ptr(); });
  define(module, "provide_driver", [](py::object find) { g_driver_finder = find.release().ptr(); });
  define(module, "refuse",
         [](const std::string& op, uint64_t dtypes, const std::string& of, const std::string& error,
            const std::string& text) { add_refusal(op, {dtypes, of, error, text}); });
  define(module, "widen",
         [](const std::string& op, uint64_t dtypes, int through, const std::string& of) {
           add_widening(op, {dtypes, static_cast<c10::ScalarType>(through), of});
         });
  define(module, "activate", activate);
  define(module, "narrow_autocast", [](bool on) { engine().take_batch_norms_lazily(on); });
  define(module, "may_group", may_group);
  define(module, "count_results", [](bool on) { return std::exchange(g_counts_results, on); });
  define(module, "connect_metal", connect_extensions);
  define(module, "set_deterministic_algorithms", set_deterministic);
  define(module, "deterministic_algorithms_only_warn", alerts_only_warn);
  bind_profiler(module);
  bind_ledger(module);
}
