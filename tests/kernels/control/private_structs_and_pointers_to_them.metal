#include <metal_stdlib>
using namespace metal;

struct Node {
  int value;
  half weight;
  short next;
  long total;
};

void visit(thread Node* nodes, thread int& sum, int start) {
  for (int at = start; at >= 0; at = nodes[at].next) {
    sum += nodes[at].value;
    nodes[at].total += sum;
  }
}

kernel void lists(device long* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
  Node nodes[8];
  for (int k = 0; k < 8; ++k) nodes[k] = {k * 10 + int(lane), half(k), short(k - int(lane % 3) - 1), 5};
  int sum = 0;
  visit(nodes, sum, int(lane % 8));
  thread Node* best = &nodes[0];
  for (int k = 1; k < 8; ++k)
    if (nodes[k].total > best->total) best = nodes + k;
  out[2 * i] = best->total * 100 + long(best - nodes);
  out[2 * i + 1] = simd_shuffle_xor(sum, 1);
}
