// An engine: the PyTorch device on whose memory every mps tensor really lives, with all that is
// special about it. One is chosen at activation. Code outside of engine/cpu and engine/cuda uses
// only this interface. docs/engines.md tells how to add one.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>

#include <memory>
#include <string>

namespace openmps {

inline const c10::Device kMpsDevice{c10::DeviceType::MPS, 0};

// How PyTorch knows the engine's device. Read by every operator, so it is data and no question.
struct Backing {
  c10::Device device{c10::DeviceType::CPU};
  c10::DispatchKey key = c10::DispatchKey::CPU;
  c10::DispatchKeySet keys{c10::DispatchKey::CPU};
  // Key-set bits that say "this tensor is of that device". Turning an mps header into a backing one
  // is: clear mps_bits, set backing_bits; and the other way round. The backing side leaves out its
  // autocast key: torch.autocast("cpu") must not reach into an mps operator.
  uint64_t mps_bits = 0;
  uint64_t backing_bits = 0;
  uint64_t foreign_bits = 0;  // backing_bits plus the backing device's autocast key
  uint64_t plain_bits = 0;    // the complete key set of an ordinary strided mps tensor
};

extern Backing g_backing;
inline const Backing& backing() { return g_backing; }

// Looked up at each use: a program may replace the CPU allocator after activation.
inline c10::Allocator* backing_allocator() { return c10::GetAllocator(g_backing.device.type()); }

struct AttentionInputs;  // operators/attention.h
struct IndexBounds;      // engine/index_guards.h
struct IndexErrorText;
struct KernelArgument;  // engine/builtin_kernels.h
class Registrar;        // engine/registrar.h

class EngineEvent {
 public:
  virtual ~EngineEvent() = default;
  virtual void record() = 0;
  virtual void wait() const = 0;         // the queue waits
  virtual void synchronize() const = 0;  // the calling thread waits
  virtual bool finished() const = 0;
  // `start` is an event of the same engine. Both are recorded, with timing.
  virtual double milliseconds_since(const EngineEvent& start) const = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const char* name() const = 0;  // as OPENMPS_ENGINE says it
  virtual c10::Device device() const = 0;

  // ---- memory

  // For a tensor. Throws what PyTorch's allocator throws.
  virtual c10::DataPtr allocate(size_t bytes) = 0;
  // Throws for bytes that fit the Mac and that this machine does not have. Called in a catch block.
  [[noreturn]] virtual void throw_out_of_memory(const c10::Error& cause, size_t bytes) const = 0;
  // Gives memory that nobody uses back to the machine.
  virtual void empty_cache() = 0;
  // Memory that the host and the engine's kernels see at the same address. Never freed.
  virtual void* allocate_shared(size_t bytes) = 0;
  // Whether the host sees the bytes of every tensor at the address that kernels use.
  virtual bool shares_memory_with_host() const = 0;
  // Called before a shader is given the address of a storage's bytes; true if they were moved.
  virtual bool move_for_shaders(const c10::Storage& /*mps*/) { return false; }
  // From one place on the device to another, after what was queued before.
  virtual void copy_bytes(void* to, const void* from, size_t bytes) = 0;

  // ---- queue

  // Whether the device starts with the first use of mps and not before: what has started cannot be
  // used after fork().
  virtual bool starts_at_first_use() const { return false; }
  virtual void start() {}
  // Called once in every thread that uses mps, before its first operator.
  virtual void prepare_thread() {}
  virtual void synchronize() {}
  virtual bool is_idle() { return true; }
  virtual std::unique_ptr<EngineEvent> new_event(bool timing) = 0;

  // ---- errors

  // Whether the device itself, and not an operator's argument, is the cause.
  virtual bool is_device_failure(const c10::Error& /*error*/) const { return false; }
  // Call it in a catch block. Tells a failed device as a Mac would; throws all others on.
  [[noreturn]] virtual void rethrow(const c10::Error& /*error*/) const { throw; }

  // A Mac's kernels find an index out of range while they run. If the device's kernels raise, the
  // operator runs again with indices that work. If they would end the process, return true and
  // implement the three checks below: they run before the operator, do not wait for the device, and
  // write to the error buffer (reports.h).
  virtual bool checks_indices_first() const { return false; }
  virtual at::Tensor check_indices(const at::Tensor& /*index*/, const IndexBounds& /*bounds*/,
                                   c10::function_ref<IndexErrorText()> /*text*/) {
    TORCH_INTERNAL_ASSERT(false, name(), " does not check indices first");
  }
  virtual void check_probabilities(at::Tensor& /*values*/, const std::string& /*text*/) {
    TORCH_INTERNAL_ASSERT(false, name(), " does not check probabilities first");
  }
  virtual void check_assertion(const at::Tensor& /*assertion*/, const std::string& /*text*/) {
    TORCH_INTERNAL_ASSERT(false, name(), " does not check assertions first");
  }

  // Whether the device's kernels alert by themselves when algorithms are to be deterministic,
  // where a Mac's do not. Their alerts are then dropped.
  virtual bool has_alerts_of_its_own() const { return false; }

  // ---- kernels of device/*.metal

  // `code` is what the engine's finder in Python gave.
  virtual void launch(void* code, uint32_t threads, c10::ArrayRef<KernelArgument> arguments) = 0;

  // ---- operators

  // Kernels that the engine brings. Called once, before the random, composed, typed and boxed
  // kernels are registered: for an operator among those, the engine's stays. What operators/
  // registers with TORCH_LIBRARY_IMPL is the same for every engine.
  virtual void register_operators(Registrar& registrar) = 0;
  // scaled_dot_product_attention by the fastest kernel that there is for these inputs.
  virtual at::Tensor attention(const AttentionInputs& inputs) = 0;
  // Attention without gradients in one fused call. Called only if the first returned true.
  virtual bool has_fused_inference_attention(const AttentionInputs& /*inputs*/) const {
    return false;
  }
  virtual at::Tensor fused_inference_attention(const AttentionInputs& /*inputs*/) {
    TORCH_INTERNAL_ASSERT(false, name(), " has no such attention");
  }
  // What runs in the place of a kernel that refuses while algorithms are to be deterministic, and
  // says whether it did; nullptr for all others.
  using DeterministicKernel = bool (*)(torch::jit::Stack* stack);
  virtual DeterministicKernel deterministic_kernel(const std::string& /*op*/) const {
    return nullptr;
  }
  // What computes an operator of float16 or bfloat16 better than the device's kernel, and says
  // whether it did: results then stand on the stack from `first`, in place of the arguments.
  using HalfKernel = bool (*)(torch::jit::Stack* stack, size_t first);
  virtual HalfKernel half_kernel(const std::string& /*op*/) const { return nullptr; }
  virtual at::Generator new_generator() = 0;
  // Whether float32 that batch norms give under autocast is bfloat16 in memory until somebody asks
  // for its bytes (OPENMPS_AUTOCAST=narrow).
  virtual void take_batch_norms_lazily(bool on) {
    TORCH_CHECK(!on, "the ", name(), " engine has no float32 that is bfloat16 in memory; set ",
                "OPENMPS_AUTOCAST to mac");
  }

  // Whether an LSTM under autocast computes in autocast's dtype what it gives in float32.
  virtual bool narrows_lstm() const { return false; }

  // ---- where the device's kernels differ from a Mac's, and what is done about it

  // Whether results keep the layout that the device gives them, for its speed, where a Mac's are
  // contiguous.
  virtual bool keeps_result_layout() const { return false; }
  // Whether `op` ("aten::max_unpool2d") loses channels last, which a Mac's keeps.
  virtual bool loses_channels_last(const std::string& /*op*/) const { return false; }
  // Whether a scalar tensor on the CPU may stand among the arguments of `op`.
  virtual bool takes_cpu_scalars(const std::string& /*op*/) const { return true; }
  // Whether a copy between two devices minds that its source is to be conjugated or negated.
  virtual bool copies_resolve_conjugates() const { return true; }
  // Whether a softmax in half precision is computed in steps, each rounded as on a Mac.
  virtual bool rounds_softmax_in_steps() const { return true; }
  // Whether a 3D convolution's weight gradient has other bits for each memory format.
  virtual bool weight_gradients_depend_on_layout() const { return false; }
};

extern Engine* g_engine;
// The chosen one.
inline Engine& engine() { return *g_engine; }

// Throws for a name that no engine has.
void choose_engine(const std::string& name);

// At load time, by a static variable of the engine's own file. Another library calls
// openmps_register_engine, before activation.
bool register_engine(Engine* engine);

// Set at activation: gives the table of functions of the engine's driver, which Python opens. It
// starts the device, waits for the GIL, and may throw.
using FindDriver = const void* (*)();
extern FindDriver g_find_driver;

// Before anything is asked of the engine's device.
void start_engine();
extern bool g_engine_started;
inline void ensure_engine_started() {
  if (!g_engine_started) start_engine();
}

// Waits for everything queued.
void synchronize_engine();

}  // namespace openmps
