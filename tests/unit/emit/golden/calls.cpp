// Functions that stay functions, aggregates that are passed by value, atomic accesses.
struct Large { float a[9]; };
__attribute__((noinline)) static Large grown(Large given, short n, bool up) {
  if (n < 2) return given;
  given.a[n % 9] += up;
  return grown(given, n - 1, !up);
}
static void run(const Launch* launch, const Threadgroup* tg, unsigned x) {
  auto large = static_cast<Large*>(launch->buffers[0]);
  auto counts = static_cast<int*>(launch->buffers[2]);
  auto sums = static_cast<float*>(launch->buffers[3]);
  large[x] = grown(large[x + 1], counts[x], counts[x + 1] > 3);
  __atomic_fetch_add(counts, 1, __ATOMIC_RELAXED);
  counts[x] = __atomic_exchange_n(counts + 1, x, __ATOMIC_ACQ_REL);
  int expected = 3;
  __atomic_compare_exchange_n(counts + 2, &expected, 4, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  __atomic_store_n(counts + 3, __atomic_load_n(counts + 4, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
  __atomic_fetch_add(sums, 1.0f, __ATOMIC_RELAXED);
  __atomic_fetch_max(counts + 5, expected, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  openmps_simdgroup_barrier();
}
