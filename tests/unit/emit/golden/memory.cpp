// Loads and stores of each type, addresses, tables, private and threadgroup memory.
struct Mixed { signed char a; short b; long c; float d[3]; };
static const float table[4] = {1, 2, 4, 8};
static thread_local int cells[64];
static void run(const Launch* launch, const Threadgroup* tg, unsigned x) {
  auto bytes = static_cast<signed char*>(launch->buffers[0]);
  auto mixed = static_cast<Mixed*>(launch->buffers[1]);
  auto vectors = static_cast<float __attribute__((ext_vector_type(4)))*>(launch->buffers[2]);
  auto halves = static_cast<_Float16*>(launch->buffers[3]);
  auto doubles = static_cast<double*>(launch->buffers[4]);
  auto flags = static_cast<bool*>(launch->buffers[5]);
  auto pointers = static_cast<int**>(launch->buffers[6]);
  auto narrow = static_cast<__bf16*>(launch->buffers[7]);
  auto seen = static_cast<volatile int*>(launch->buffers[8]);
  Mixed copy = mixed[x];
  Mixed& last = mixed[x + 1];
  last.d[x & 1] = copy.d[2] + table[x & 3];
  last.b = bytes[x] + copy.b;
  vectors[x] = vectors[x + 1].wzyx * copy.a;
  halves[x] += static_cast<_Float16>(doubles[x]);
  narrow[x] = narrow[x + 1];
  flags[x] = !flags[x + 1];
  seen[x] = seen[x + 1];
  int own[8] = {};
  for (int i = 0; i < 8; i++) own[i ^ copy.a & 7] = i;
  cells[x & 63] = own[x & 7];
  openmps_threadgroup_barrier();
  *pointers[x] = cells[63 - (x & 63)];
  *reinterpret_cast<long*>(bytes + x) = copy.c;
}
