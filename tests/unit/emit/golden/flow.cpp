// Branches, loops, switches, selections, and calls that lanes make together.
static void run(const Launch* launch, const Threadgroup* tg, unsigned x) {
  auto in = static_cast<int*>(launch->buffers[0]);
  auto out = static_cast<int*>(launch->buffers[1]);
  if (x > tg->threads) return;
  int sum = 0;
  for (int i = 0; i < in[x]; i++) {
    if (in[i] == 7) continue;
    if (in[i] < 0) break;
    sum += in[i] > 100 ? 100 : in[i];
  }
  switch (sum) {
    case 1: out[x] = 3; break;
    case -2: sum += 9;
    case 40: out[x] = sum * in[x]; break;
    case 5: while (in[sum]) sum = in[sum]; break;
    default: out[x] = -1;
  }
  openmps_simdgroup_barrier();
  if (in[x] & 1) out[x] += openmps_reduce_add_u32(sum) + openmps_ballot(sum > 3);
  out[x + 1] = openmps_shuffle_u32(sum, x ^ 1) + openmps_scan_inclusive_add_u32(sum);
  if (in[x] == 12345) __builtin_unreachable();
}
