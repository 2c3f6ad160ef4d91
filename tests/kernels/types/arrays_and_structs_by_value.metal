#include <metal_stdlib>
#include <metal_array>
using namespace metal;

struct Item {
  array<int, 4> numbers;
  float weight = 2.5;
  struct { short a, b; } inner;
};

Item changed(Item item, int by) {
  for (auto& n : item.numbers) n += by;
  item.weight *= float(item.numbers.size());
  item.inner.b = short(item.numbers.front() - item.numbers.back());
  return item;
}

kernel void values(device int* out, constant array<ulong, 3>& sizes, uint i [[thread_position_in_grid]]) {
  Item one = {{{1, 2, 3, int(i)}}};
  one.inner = {7, 8};
  const Item two = changed(one, 10);
  Item three = two;
  three.numbers[i % 4] = 0;
  int plain[2][3] = {{1, 2}, {3}};
  int sum = 0;
  for (auto n : three.numbers) sum += n;
  for (auto& row : plain)
    for (int n : row) sum += n * 100;
  out[5 * i] = sum;
  out[5 * i + 1] = int(two.weight * 2) + int(one.weight * 2);
  out[5 * i + 2] = two.inner.b * 100 + one.inner.b + two.inner.a;
  out[5 * i + 3] = int(sizes[0] + sizes[2]);
  out[5 * i + 4] = one.numbers[3] - two.numbers[3];
}
