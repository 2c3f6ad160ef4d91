// Random operators: the numbers of a Mac, from its generator. What PyTorch's templates check and
// prepare for every device is done by them; the kernels are those of device/random.metal.
#include "operators/random.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/multinomial_native.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/searchsorted.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <limits>

#include "engine/engine.h"
#include "dispatch/call.h"
#include "torch_interfaces/generator.h"
#include "ledger/ledger.h"
#include "operators/permutations.h"
#include "operators/random_kernels.h"
#include "engine/reports.h"

namespace openmps {
namespace {

using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;

// A generator brings a CPU tensor's operator here, too, because mps goes first.
Generator& generator_of(const Tensor& self, const MaybeGenerator& given) {
  TORCH_CHECK(self.is_mps(), "Expected a '", self.device().type(),
              "' device type for generator but found '", at::kMPS, "'");
  return generator_for(given);
}

// TensorIterator's 32-bit indexing, which also limits the bytes: what a Mac gives to one kernel.
bool fits_one_kernel(int64_t count, int64_t bytes_each) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return count <= kMost && (count - 1) * bytes_each + 1 <= kMost;
}

// Larger memory is halved until it fits; each part takes its own blocks from the generator.
void fill_memory(const RandomKernel& kernel, Generator& generator, char* data, int64_t count,
                 int64_t bytes_each, int64_t per_thread, KernelArgument parameters) {
  if (!fits_one_kernel(count, bytes_each)) {
    const auto half = count / 2;
    fill_memory(kernel, generator, data, half, bytes_each, per_thread, parameters);
    fill_memory(kernel, generator, data + half * bytes_each, count - half, bytes_each, per_thread,
                parameters);
    return;
  }
  const auto blocks = generator.reserve((count + per_thread - 1) / per_thread);
  kernel.draw(count, per_thread, {{data, bytes_each}}, blocks, parameters);
}

// A dense tensor is filled in the order of its memory, any other through one that is contiguous.
void fill(const Tensor& self, Draw what, KernelArgument parameters, const MaybeGenerator& given,
          int64_t per_thread = 4) {
  if (self.numel() == 0) return;
  // A Mac has no double; where one is let in all the same, it gets what a float would.
  const bool is_double = self.scalar_type() == at::kDouble;
  if (is_double || !self.is_non_overlapping_and_dense()) {
    const auto dense =
        at::empty(self.sizes(), is_double ? self.options().dtype(at::kFloat) : self.options());
    fill(dense, what, parameters, given, per_thread);
    const_cast<Tensor&>(self).copy_(dense);
    return;
  }
  auto& generator = generator_of(self, given);
  const auto& kernel = random_kernel(what, self.scalar_type());
  fill_memory(kernel, generator, static_cast<char*>(self.mutable_data_ptr()), self.numel(),
              static_cast<int64_t>(self.itemsize()), per_thread, parameters);
}

void fill(const Tensor& self, Draw what, double first, double second, const MaybeGenerator& given) {
  const std::array<float, 2> parameters = {static_cast<float>(first), static_cast<float>(second)};
  fill(self, what, bytes_of(parameters), given);
}

const Tensor& filled_by(const at::TensorIteratorBase& iterator) {
  return static_cast<const Tensor&>(iterator.tensor(0));
}

// ---- what PyTorch's templates call back

template <class>
struct UniformKernel {
  void operator()(at::TensorIteratorBase& iterator, double from, double to,
                  const MaybeGenerator& given) {
    fill(filled_by(iterator), Draw::kUniform, from, to, given);
  }
};

template <class>
struct NormalKernel {
  void operator()(const Tensor& self, double mean, double deviation, const MaybeGenerator& given) {
    TORCH_CHECK_TYPE(at::isFloatingType(self.scalar_type()),
                     "normal_kernel_mps not implemented for '", self.scalar_type(), "'");
    at::assert_no_internal_overlap(self);
    fill(self, Draw::kNormal, mean, deviation, given);
  }
};

template <class>
struct LogNormalKernel {
  void operator()(at::TensorIteratorBase& iterator, double mean, double deviation,
                  const MaybeGenerator& given) {
    fill(filled_by(iterator), Draw::kLogNormal, mean, deviation, given);
  }
};

template <class>
struct CauchyKernel {
  void operator()(at::TensorIteratorBase& iterator, double median, double width,
                  const MaybeGenerator& given) {
    fill(filled_by(iterator), Draw::kCauchy, median, width, given);
  }
};

template <class>
struct ExponentialKernel {
  void operator()(at::TensorIteratorBase& iterator, double rate, const MaybeGenerator& given) {
    fill(filled_by(iterator), Draw::kExponential, rate, 0.0, given);
  }
};

template <class>
struct GeometricKernel {
  void operator()(at::TensorIteratorBase& iterator, double p, const MaybeGenerator& given) {
    fill(filled_by(iterator), Draw::kGeometric, std::log1p(-p), 0.0, given);
  }
};

template <class>
struct BernoulliKernel {
  void operator()(const Tensor& self, double p, const MaybeGenerator& given) {
    fill(self, Draw::kBernoulli, p, 0.0, given);
  }
};

void fill_integers(const Tensor& self, int64_t base, int64_t range, const MaybeGenerator& given) {
  const std::array<int64_t, 2> span = {base, range};
  fill(self, Draw::kIntegers, bytes_of(span), given,
       self.itemsize() == 8 && !self.is_floating_point() ? 2 : 4);
}

// How many values random_() without arguments chooses from, beginning at 0.
int64_t natural_range(at::ScalarType type) {
  int64_t range = 0;
  if (at::isFloatingType(type)) {
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, type, "random_kernel_mps_range_calc",
        [&] { range = int64_t{1} << std::numeric_limits<scalar_t>::digits; });
  } else if (at::isIntegralType(type, /*includeBool=*/true)) {
    AT_DISPATCH_INTEGRAL_TYPES_AND(at::kBool, type, "random_kernel_mps_range_calc", [&] {
      const auto most = static_cast<int64_t>(std::numeric_limits<scalar_t>::max());
      range = std::is_same_v<scalar_t, int64_t> ? most : most + 1;
    });
  } else {
    TORCH_CHECK(false, "random_mps handles only integral, floating-point and boolean types");
  }
  return range;
}

template <class>
struct NaturalKernel {
  void operator()(at::TensorIteratorBase& iterator, const MaybeGenerator& given) {
    const auto& self = filled_by(iterator);
    fill_integers(self, 0, natural_range(self.scalar_type()), given);
  }
};

template <class>
struct FromToKernel {
  void operator()(at::TensorIteratorBase& iterator, uint64_t range, int64_t from,
                  const MaybeGenerator& given) {
    // 0 stands for all values of a word; natively so does the largest range but one.
    const bool all = range == std::numeric_limits<uint64_t>::max();
    fill_integers(filled_by(iterator), from, all ? 0 : static_cast<int64_t>(range), given);
  }
  void operator()(at::TensorIteratorBase& iterator, const MaybeGenerator& given) {
    fill_integers(filled_by(iterator), std::numeric_limits<int64_t>::min(), 0, given);
  }
};

// ---- a probability for each element

bool are_probabilities(const float* p, int64_t count) {
  bool all = true;
  for (int64_t i = 0; i < count; ++i) all &= p[i] >= 0.0F && p[i] <= 1.0F;
  return all;
}

void fill_bernoulli(const Tensor& self, const Tensor& given_p, const MaybeGenerator& given) {
  TORCH_CHECK(given_p.is_same_size(self) || given_p.dim() == 0,
              "bernoulli_mps_: probability and self tensor should be of the same shape");
  if (given_p.dim() == 0) {
    const auto p = given_p.item<double>();
    TORCH_CHECK(0.0 <= p && p <= 1.0, "bernoulli_mps_ expects p to be in [0, 1], but got p=", p);
    fill(self, Draw::kBernoulli, p, 0.0, given);
    return;
  }
  if (self.is_mps() && !given_p.is_mps()) {
    check_same_device("aten::bernoulli_", given_p, /*written=*/false);
  }
  if (self.scalar_type() == at::kDouble || !self.is_contiguous()) {
    const auto type = self.scalar_type() == at::kDouble ? at::kFloat : self.scalar_type();
    const auto contiguous = at::empty(self.sizes(), self.options().dtype(type));
    fill_bernoulli(contiguous, given_p, given);
    const_cast<Tensor&>(self).copy_(contiguous);
    return;
  }
  const auto p = given_p.to(at::kFloat).contiguous();
  auto& generator = generator_of(self, given);
  const auto& kernel = random_kernel(Draw::kBernoulliEach, self.scalar_type());
  const auto count = self.numel();
  const auto blocks = generator.reserve(count);
  kernel.draw(count, 4,
              {{self.mutable_data_ptr(), static_cast<int64_t>(self.itemsize())},
               {p.mutable_data_ptr(), sizeof(float), /*is_read=*/true}},
              blocks);
  constexpr const char* kWrong = "bernoulli_mps_ expects p to be in [0, 1]";
  if (engine().checks_indices_first()) {
    auto probabilities = p;
    engine().check_probabilities(probabilities, kWrong);
  } else if (!are_probabilities(p.const_data_ptr<float>(), count)) {
    report(kWrong);
  }
}

template <class>
struct BernoulliEachKernel {
  void operator()(const Tensor& self, const Tensor& p, const MaybeGenerator& given) {
    fill_bernoulli(self, p, given);
  }
};

// ---- the operators: PyTorch's templates around these kernels

namespace templates = at::native::templates;

Tensor& uniform_(Tensor& self, double from, double to, MaybeGenerator given) {
  return templates::uniform_impl_<UniformKernel, at::Generator>(self, from, to, std::move(given));
}

Tensor& normal_(Tensor& self, double mean, double deviation, MaybeGenerator given) {
  return templates::normal_impl_<NormalKernel, at::Generator>(self, mean, deviation,
                                                              std::move(given));
}

template <class Mean, class Deviation>
Tensor normal(Mean mean, Deviation deviation, MaybeGenerator given) {
  return templates::normal_impl<NormalKernel, at::Generator>(mean, deviation, std::move(given));
}

template <class Mean, class Deviation>
Tensor& normal_out(Mean mean, Deviation deviation, MaybeGenerator given, Tensor& out) {
  return templates::normal_out_impl<NormalKernel, at::Generator>(out, mean, deviation,
                                                                 std::move(given));
}

Tensor& log_normal_(Tensor& self, double mean, double deviation, MaybeGenerator given) {
  return templates::log_normal_impl_<LogNormalKernel, at::Generator>(self, mean, deviation,
                                                                     std::move(given));
}

Tensor& cauchy_(Tensor& self, double median, double width, MaybeGenerator given) {
  return templates::cauchy_impl_<CauchyKernel, at::Generator>(self, median, width,
                                                              std::move(given));
}

Tensor& exponential_(Tensor& self, double rate, MaybeGenerator given) {
  return templates::exponential_impl_<ExponentialKernel, at::Generator>(self, rate,
                                                                        std::move(given));
}

Tensor& geometric_(Tensor& self, double p, MaybeGenerator given) {
  return templates::geometric_impl_<GeometricKernel, at::Generator>(self, p, std::move(given));
}

Tensor& bernoulli_(Tensor& self, double p, MaybeGenerator given) {
  return templates::bernoulli_impl_<BernoulliKernel, at::Generator>(self, p, std::move(given));
}

Tensor& bernoulli_each_(Tensor& self, const Tensor& p, MaybeGenerator given) {
  return templates::bernoulli_impl_<BernoulliEachKernel, at::Generator>(self, p, std::move(given));
}

Tensor& bernoulli_out(const Tensor& p, MaybeGenerator given, Tensor& out) {
  return templates::bernoulli_out_impl<BernoulliEachKernel, at::Generator>(out, p,
                                                                           std::move(given));
}

Tensor& random_(Tensor& self, MaybeGenerator given) {
  return templates::random_impl<NaturalKernel, at::Generator>(self, std::move(given));
}

Tensor& random_from_(Tensor& self, int64_t from, std::optional<int64_t> to, MaybeGenerator given) {
  return templates::random_from_to_impl<FromToKernel, at::Generator>(self, from, to,
                                                                     std::move(given));
}

Tensor& random_to_(Tensor& self, int64_t to, MaybeGenerator given) {
  return random_from_(self, 0, to, std::move(given));
}

// ---- dropout

std::tuple<Tensor, Tensor> drop(const Tensor& input, double p, std::optional<bool> train) {
  const auto type = input.scalar_type();
  if (input.numel() == 0 || !train.value_or(false) || p == 0) {
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  }
  TORCH_CHECK(at::isFloatingType(type) || at::isComplexType(type),
              "native_dropout_mps: input must be a floating-point or complex tensor, got ", type);
  if (type == at::kDouble) {
    auto [out, mask] = drop(input.to(at::kFloat), p, train);
    return {out.to(type), mask};
  }
  const auto keep = static_cast<float>(1.0 - p);
  const std::array<float, 2> parameters = {keep, keep == 0.0F ? 0.0F : 1.0F / keep};
  // Drawn in the order of memory, in which output and mask then lie like the input.
  const auto dense = input.is_non_overlapping_and_dense() ? input : input.contiguous();
  auto out = at::empty_like(dense);
  auto mask = at::empty_like(dense, dense.options().dtype(at::kBool));
  auto& generator = generator_for(std::nullopt);
  const auto& kernel = random_kernel(Draw::kDropout, type);
  const auto bytes = static_cast<int64_t>(dense.itemsize());
  const auto blocks = generator.reserve(dense.numel());
  kernel.draw(dense.numel(), 4,
              {{out.mutable_data_ptr(), bytes},
               {mask.mutable_data_ptr(), 1},
               {dense.mutable_data_ptr(), bytes, /*is_read=*/true}},
              blocks, bytes_of(parameters));
  return {std::move(out), std::move(mask)};
}

// ---- gamma, Poisson and Dirichlet: methods that reject, with blocks enough for each element

constexpr int64_t kBlocksEach = 32;

// `out` is of the parameters' type, but for a Dirichlet sample on its way.
void fill_each(Draw what, const Tensor& out, const Tensor& parameters,
               const MaybeGenerator& given) {
  auto& generator = generator_of(parameters, given);
  const auto& kernel = random_kernel(what, parameters.scalar_type());
  const auto blocks = generator.reserve(kBlocksEach * parameters.numel());
  kernel.run(parameters.numel(),
             {{out.mutable_data_ptr()}, {parameters.const_data_ptr()}, bytes_of(blocks)});
}

template <Draw what>
Tensor draw_each(const Tensor& parameters, MaybeGenerator given) {
  if (parameters.numel() == 0) return at::empty_like(parameters);
  if (parameters.scalar_type() == at::kDouble) {
    return draw_each<what>(parameters.to(at::kFloat), std::move(given)).to(at::kDouble);
  }
  auto out = at::empty_like(parameters, parameters.options(), at::MemoryFormat::Contiguous);
  fill_each(what, out, parameters.contiguous(), given);
  return out;
}

Tensor sample_dirichlet(const Tensor& shape, MaybeGenerator given) {
  if (shape.numel() == 0) return at::empty_like(shape);
  if (shape.scalar_type() == at::kDouble) {
    return sample_dirichlet(shape.to(at::kFloat), std::move(given)).to(at::kDouble);
  }
  const auto columns = static_cast<uint32_t>(shape.dim() > 0 ? shape.size(-1) : 1);
  const auto drawn = at::empty(shape.sizes(), shape.options().dtype(at::kFloat));
  fill_each(Draw::kDirichletGamma, drawn, shape.contiguous(), given);
  auto out = at::empty_like(shape, shape.options(), at::MemoryFormat::Contiguous);
  random_kernel(Draw::kNormaliseGamma, shape.scalar_type())
      .run(shape.numel() / columns,
           {{out.mutable_data_ptr()}, {drawn.const_data_ptr()}, bytes_of(columns)});
  return out;
}

// ---- categories

void check_categories(const Tensor& weights, const Tensor& result) {
  TORCH_CHECK(result.device() == weights.device(),
              "multinomial arguments must have the same device");
  TORCH_CHECK(weights.dim() > 0 && weights.dim() <= 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(
      at::isFloatingType(weights.scalar_type()),
      "multinomial only supports floating-point dtypes for input, got: ", weights.scalar_type());
  TORCH_CHECK(result.scalar_type() == at::kLong,
              "multinomial expects Long tensor out, got: ", result.scalar_type());
  TORCH_CHECK(weights.size(-1) <= (int64_t{1} << 24), "number of categories cannot exceed 2^24");
}

Tensor& multinomial_out(const Tensor& weights, int64_t samples, bool replacement,
                        MaybeGenerator given, Tensor& result) {
  if (!replacement || samples <= 1) {
    // PyTorch's own, for all devices, on exponential_; the rest needs a stub that Linux lacks.
    return at::native::multinomial_out(weights, samples, replacement, std::move(given), result);
  }
  check_categories(weights, result);
  result.resize_(weights.dim() == 1 ? std::vector<int64_t>{samples}
                                    : std::vector<int64_t>{weights.size(0), samples});
  if (result.numel() == 0) return result;
  const auto last = weights.size(-1) - 1;
  const auto sums = weights.cumsum(-1, at::kFloat);
  const auto drawn = at::rand(result.sizes(), std::move(given), weights.options().dtype(at::kFloat))
                         .mul_(sums.select(-1, last).unsqueeze(-1));
  at::searchsorted_out(result, sums, drawn);
  return result.clamp_(0, last);
}

Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement, MaybeGenerator given) {
  auto result = at::empty({0}, weights.options().dtype(at::kLong));
  multinomial_out(weights, samples, replacement, std::move(given), result);
  return result;
}

// A kernel that the ledger knows by its name.
template <auto kKernel>
struct Noted;

template <class Result, class... Args, Result (*kKernel)(Args...)>
struct Noted<kKernel> {
  static inline const char* name = "";
  static Result run(Args... args) {
    const ledger::UntracedOperator own(name);
    return kKernel(std::forward<Args>(args)...);
  }
};

template <auto kKernel>
void add(Registrar& registrar, const char* name) {
  Noted<kKernel>::name = name;
  registrar.impl(name, &Noted<kKernel>::run);
}

}  // namespace

void register_random_operators(Registrar& m, bool with_poisson) {
  add<uniform_>(m, "aten::uniform_");
  add<normal_>(m, "aten::normal_");
  add<normal<const Tensor&, double>>(m, "aten::normal.Tensor_float");
  add<normal<double, const Tensor&>>(m, "aten::normal.float_Tensor");
  add<normal<const Tensor&, const Tensor&>>(m, "aten::normal.Tensor_Tensor");
  add<normal_out<const Tensor&, double>>(m, "aten::normal.Tensor_float_out");
  add<normal_out<double, const Tensor&>>(m, "aten::normal.float_Tensor_out");
  add<normal_out<const Tensor&, const Tensor&>>(m, "aten::normal.Tensor_Tensor_out");
  add<log_normal_>(m, "aten::log_normal_");
  add<cauchy_>(m, "aten::cauchy_");
  add<exponential_>(m, "aten::exponential_");
  add<geometric_>(m, "aten::geometric_");
  add<bernoulli_>(m, "aten::bernoulli_.float");
  add<bernoulli_each_>(m, "aten::bernoulli_.Tensor");
  add<bernoulli_out>(m, "aten::bernoulli.out");
  add<random_>(m, "aten::random_");
  add<random_from_>(m, "aten::random_.from");
  add<random_to_>(m, "aten::random_.to");
  add<drop>(m, "aten::native_dropout");
  add<draw_each<Draw::kGamma>>(m, "aten::_standard_gamma");
  add<sample_dirichlet>(m, "aten::_sample_dirichlet");
  add<randperm_out>(m, "aten::randperm.generator_out");
  add<multinomial>(m, "aten::multinomial");
  add<multinomial_out>(m, "aten::multinomial.out");
  if (with_poisson) add<draw_each<Draw::kPoisson>>(m, "aten::poisson");
}

}  // namespace openmps
