// Products in float16 and bfloat16, added up in float32 and rounded once. On the CPU.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <optional>

namespace openmps::half {

// Whether the processor multiplies bfloat16 by itself, adding in float32.
bool has_bfloat16_products();

// A matrix where it lies.
struct Matrix {
  uint16_t* data;
  int64_t rows;
  int64_t columns;
  int64_t row_stride;
  int64_t column_stride;

  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  bool has_lines() const { return row_stride == 1 || column_stride == 1; }
  // Whether its columns are in one piece and its rows are not.
  bool lies_by_columns() const { return row_stride == 1 && column_stride != 1; }
  uint16_t* at(int64_t row, int64_t column) const {
    return data + row * row_stride + column * column_stride;
  }
};

// Some of one shape.
struct Matrices {
  Matrix first;
  int64_t count = 1;
  int64_t stride = 0;

  Matrix operator[](int64_t i) const {
    auto matrix = first;
    matrix.data += i * stride;
    return matrix;
  }
  Matrices transposed() const { return {first.transposed(), count, stride}; }
};

struct Product {
  c10::ScalarType type;
  Matrices out;
  Matrices a;
  Matrices b;
  std::optional<Matrices> self = {};
  double beta = 1;
  double alpha = 1;

  // Of few enough rows or columns that its larger factor is read once, or so small that a call of
  // a library costs more: computed without one.
  bool is_small() const;
};

// out = beta * self + alpha * a @ b
void multiply(const Product& product);

}  // namespace openmps::half
