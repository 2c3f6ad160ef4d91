// The Python module: its activation, and what it asks of tensors and storages.
#include "python/bindings.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>

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
#include "operators/layers.h"
#include "operators/random.h"
#include "operators/typed_operators.h"
#include "tensor/header.h"
#include "tensor/lazy_bytes.h"
#include "tensor/twin.h"
#include "torch_interfaces/hooks.h"
#include "torch_interfaces/one_accelerator.h"

namespace openmps {

std::vector<std::string> strings(PyObject* list) {
  TORCH_CHECK_TYPE(PyList_Check(list), "openmps_core: expected a list of names");
  std::vector<std::string> result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (text == nullptr) throw python_error();
    result.emplace_back(text);
  }
  return result;
}

PyObject* text(const std::string& value) {
  return PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace");
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

// activate(engine, recommended_max_bytes, max_buffer_bytes, macos_major, macos_minor, strict,
//          dense_operators, sparse_operators, operators_always_on_cpu)
PyObject* activate(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* engine_name = nullptr;
  unsigned long long recommended = 0;
  unsigned long long max_buffer = 0;
  unsigned major = 0;
  unsigned minor = 0;
  int strict = 1;
  PyObject *dense = nullptr, *sparse = nullptr, *on_cpu = nullptr;
  if (!PyArg_ParseTuple(args, "sKKIIpOOO", &engine_name, &recommended, &max_buffer, &major, &minor,
                        &strict, &dense, &sparse, &on_cpu)) {
    return nullptr;
  }
  g_mac = {static_cast<size_t>(recommended), static_cast<size_t>(max_buffer), major, minor};
  g_strict = strict != 0;
  choose_engine(engine_name);
  hide_other_accelerators();
  install_hooks();
  register_vmapped_attention();
  g_find_kernel_code = find_kernel_code;
  g_find_driver = find_driver;
  const NativeOperators native = {strings(dense), strings(sparse), strings(on_cpu)};
  const bool draws_poisson =
      std::find(native.dense.begin(), native.dense.end(), "aten::poisson") != native.dense.end();
  register_random_operators(draws_poisson);
  Registrar registrar;  // the engine comes first, and what it brings stays
  engine().register_operators(registrar);
  register_layers(registrar);
  register_copies(registrar);
  register_typed_operators(registrar);
  register_boxed_kernels(native);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// provide_kernels(find): before activate. `find` gives the code of a kernel of device/*.metal by
// its name, or None if there is none.
PyObject* provide_kernels(PyObject*, PyObject* find) {
  g_kernel_finder = Py_NewRef(find);
  Py_RETURN_NONE;
}

// provide_driver(find): before activate. `find` gives the address of the table of functions of the
// engine's driver.
PyObject* provide_driver(PyObject*, PyObject* find) {
  g_driver_finder = Py_NewRef(find);
  Py_RETURN_NONE;
}

// refuse(operator, dtype_mask, of, error, text): before activate.
PyObject* refuse(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* op = nullptr;
  unsigned long long dtypes = 0;
  const char *of = nullptr, *error = nullptr, *text = nullptr;
  if (!PyArg_ParseTuple(args, "sKsss", &op, &dtypes, &of, &error, &text)) return nullptr;
  add_refusal(op, {dtypes, of, error, text});
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// widen(operator, dtype_mask, through, of): before activate.
PyObject* widen(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* op = nullptr;
  unsigned long long dtypes = 0;
  int through = 0;
  const char* of = nullptr;
  if (!PyArg_ParseTuple(args, "sKis", &op, &dtypes, &through, &of)) return nullptr;
  add_widening(op, {dtypes, static_cast<c10::ScalarType>(through), of});
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// narrow_autocast(on): after activate.
PyObject* narrow_autocast(PyObject*, PyObject* on) {
  HANDLE_TH_ERRORS
  engine().take_batch_norms_lazily(PyObject_IsTrue(on) == 1);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
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

// connect_metal(address of a ShaderCalls) -> address of the Metal that C++ extensions reach.
PyObject* connect_extensions(PyObject*, PyObject* calls) {
  HANDLE_TH_ERRORS
  const auto* table = static_cast<const ShaderCalls*>(PyLong_AsVoidPtr(calls));
  if (table == nullptr) {
    TORCH_CHECK_VALUE(PyErr_Occurred() != nullptr, "connect_metal: expected an address");
    return nullptr;
  }
  return PyLong_FromVoidPtr(connect_metal(table));
  END_HANDLE_TH_ERRORS
}

PyObject* set_deterministic_algorithms(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  int wanted = 0;
  int only_warn = 0;
  if (!PyArg_ParseTuple(args, "pp", &wanted, &only_warn)) return nullptr;
  set_deterministic(wanted != 0, only_warn != 0);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* deterministic_algorithms_only_warn(PyObject*, PyObject*) {
  return PyBool_FromLong(alerts_only_warn());
}

PyMethodDef g_methods[] = {
    {"activate", activate, METH_VARARGS, nullptr},
    {"provide_kernels", provide_kernels, METH_O, nullptr},
    {"provide_driver", provide_driver, METH_O, nullptr},
    {"refuse", refuse, METH_VARARGS, nullptr},
    {"widen", widen, METH_VARARGS, nullptr},
    {"narrow_autocast", narrow_autocast, METH_O, nullptr},
    {"host_alias_storage", host_alias_storage, METH_O, nullptr},
    {"tensor_extent", tensor_extent, METH_O, nullptr},
    {"error_buffer", error_buffer, METH_NOARGS, nullptr},
    {"connect_metal", connect_extensions, METH_O, nullptr},
    {"set_deterministic_algorithms", set_deterministic_algorithms, METH_VARARGS, nullptr},
    {"deterministic_algorithms_only_warn", deterministic_algorithms_only_warn, METH_NOARGS,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "openmps_core",
                        nullptr,
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace
}  // namespace openmps

PyMODINIT_FUNC PyInit_openmps_core() {
  PyObject* module = PyModule_Create(&openmps::g_module);
  for (auto* part : {openmps::g_profiler_methods, openmps::g_ledger_methods}) {
    if (module != nullptr && PyModule_AddFunctions(module, part) != 0) Py_CLEAR(module);
  }
  return module;
}
