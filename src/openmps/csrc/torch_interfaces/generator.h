// The mps random generator: a seed and an offset, in the state layout of a Mac's generator.
#pragma once

#include <ATen/core/Generator.h>

#include <array>
#include <mutex>

namespace openmps {

// What one draw reads: the seed's blocks of four 32-bit words, from block `first` on. Kernels see
// it as it is (device/random.metal).
struct Blocks {
  int64_t seed;
  int64_t first;
};

class Generator final : public c10::GeneratorImpl {
 public:
  explicit Generator(uint64_t seed = c10::default_rng_seed_val);
  static c10::DeviceType device_type() { return c10::DeviceType::MPS; }

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return state_.seed; }
  uint64_t seed() override;
  void set_offset(uint64_t offset) override { state_.offset = offset; }
  uint64_t get_offset() const override { return state_.offset; }
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  // Returns where the next `blocks` blocks begin, and moves on.
  Blocks reserve(int64_t blocks);

  // What a Mac does once for each LSTM with dropout: words 1 to 4 of the state become the next
  // block. Returns where openmps draws the masks from: a seed and a place made of these words.
  Blocks reserve_words();

 private:
  struct State {
    std::array<uint32_t, 7> words;
    uint64_t seed;
    uint64_t offset;
  };

  Generator* clone_impl() const override;
  State state_;
};

const at::Generator& default_generator();

// What an operator in this thread draws from: `given`, else the default generator or the one that a
// DrawFrom put in its place. Throws for a generator of another device.
Generator& generator_for(const std::optional<at::Generator>& given);

// While it lives, operators of this thread that were given no generator draw `blocks` and the
// following ones, and the default generator rests.
class DrawFrom {
 public:
  explicit DrawFrom(Blocks blocks);
  DrawFrom(const DrawFrom&) = delete;
  DrawFrom& operator=(const DrawFrom&) = delete;
  ~DrawFrom();

 private:
  at::Generator before_;
};

// A generator of the backing device that continues `mps` (or the default generator, if none is
// given) for one operator over `elements` elements. Belongs to the calling thread until its next
// call. Throws for a generator of another device.
at::Generator backing_generator(const std::optional<at::Generator>& mps, int64_t elements);

// Lets the backing device's default generator continue the mps one, for operators that take none.
// While the lock is held, no other thread does so.
[[nodiscard]] std::unique_lock<std::mutex> seed_backing_default();

}  // namespace openmps
