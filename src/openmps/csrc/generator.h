// The mps random generator: a seed and an offset, in the state layout of a Mac's generator.
#pragma once

#include <ATen/core/Generator.h>

#include <array>

namespace openmps {

class Generator final : public c10::GeneratorImpl {
 public:
  explicit Generator(uint64_t seed = c10::default_rng_seed_val);

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return state_.seed; }
  uint64_t seed() override;
  void set_offset(uint64_t offset) override { state_.offset = offset; }
  uint64_t get_offset() const override { return state_.offset; }
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  // Reserves `blocks` blocks of four 32-bit numbers: returns where they begin and moves on.
  std::pair<uint64_t, uint64_t> reserve(uint64_t blocks);

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

// A generator of the backing device that continues `mps` (or the default generator, if none is
// given) for one operator over `elements` elements. Belongs to the calling thread until its next
// call. Throws for a generator of another device.
at::Generator backing_generator(const std::optional<at::Generator>& mps, int64_t elements);

}  // namespace openmps
