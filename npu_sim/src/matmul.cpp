#include "matmul.h"

#include <algorithm>

namespace npusim {

namespace {

// Part of c += a * b: rows [i0, i1) and columns [j0, j1). Nearly all of a model's time is spent here, so it is compiled
// for the vectors that the machine has, and the part of c is small enough to stay in the nearest cache.
__attribute__((optimize("O3"), target_clones("arch=haswell", "default"))) void multiply_block(
    const double* __restrict a, const double* __restrict b, double* __restrict c, int64_t k, int64_t m, int64_t i0,
    int64_t i1, int64_t j0, int64_t j1) {
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
        const double* right = b + p * m;
        for (int64_t i = i0; i < i1; ++i) {
            const double* left = a + i * k + p;
            double* row = c + i * m;
            for (int64_t j = j0; j < j1; ++j) {
                row[j] += left[0] * right[j] + left[1] * right[j + m] + left[2] * right[j + 2 * m] +
                          left[3] * right[j + 3 * m];
            }
        }
    }
    for (; p < k; ++p) {
        for (int64_t i = i0; i < i1; ++i) {
            for (int64_t j = j0; j < j1; ++j) c[i * m + j] += a[i * k + p] * b[p * m + j];
        }
    }
}

void multiply(const double* a, const double* b, double* c, int64_t n, int64_t k, int64_t m) {
    constexpr int64_t kRows = 16, kColumns = 256;
    for (int64_t j = 0; j < m; j += kColumns) {
        for (int64_t i = 0; i < n; i += kRows) {
            multiply_block(a, b, c, k, m, i, std::min(i + kRows, n), j, std::min(j + kColumns, m));
        }
    }
}

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

// Number of the matrix in `batch` that the matrix `index` of the broadcast batch `whole` uses.
int64_t matrix_at(int64_t index, const Shape& whole, const Shape& batch) {
    int64_t position = 0, scale = 1;
    for (int64_t d = static_cast<int64_t>(whole.size()) - 1, b = static_cast<int64_t>(batch.size()) - 1; b >= 0;
         --d, --b) {
        const int64_t coordinate = index % whole[d];
        index /= whole[d];
        if (batch[b] != 1) position += coordinate * scale;
        scale *= batch[b];
    }
    return position;
}

}  // namespace

Array<double> matmul(const Array<double>& a, const Array<double>& b) {
    Shape left = a.shape, right = b.shape;
    if (left.size() == 1) left.insert(left.begin(), 1);
    if (right.size() == 1) right.push_back(1);
    const int64_t n = left[left.size() - 2], k = left.back(), m = right.back();
    if (right[right.size() - 2] != k) throw UnsupportedCall("matrix product: inner sizes differ");
    const Shape batch_a = batch_of(left), batch_b = batch_of(right);
    const Shape batch = broadcast({batch_a, batch_b});
    Shape shape = batch;
    if (a.shape.size() > 1) shape.push_back(n);
    if (b.shape.size() > 1) shape.push_back(m);
    Array<double> c(shape);
    for (int64_t i = 0; i < count(batch); ++i) {
        const double* from_a = a.values.data() + matrix_at(i, batch, batch_a) * n * k;
        const double* from_b = b.values.data() + matrix_at(i, batch, batch_b) * k * m;
        multiply(from_a, from_b, c.values.data() + i * n * m, n, k, m);
    }
    return c;
}

Array<double> transposed(const Array<double>& x) {
    Shape shape = x.shape;
    const size_t rank = shape.size();
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    std::swap(shape[rank - 2], shape[rank - 1]);
    Array<double> out(shape);
    for (int64_t base = 0; base < x.size(); base += rows * columns) {
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j) out[base + j * rows + i] = x[base + i * columns + j];
        }
    }
    return out;
}

}  // namespace npusim
