#include "quantize.h"

#include <cmath>

namespace npusim {

std::vector<double> quantize_rows(Array<double>& x) {
    constexpr double kInt8Max = 127;
    const int64_t width = x.shape.back();
    std::vector<double> scales;
    for (int64_t row = 0; row < x.size(); row += width) {
        double greatest = 0;
        for (int64_t i = row; i < row + width; ++i) {
            if (std::isnan(x[i]) || std::fabs(x[i]) > greatest) greatest = std::fabs(x[i]);
        }
        const double scale = static_cast<float>(greatest / kInt8Max);
        for (int64_t i = row; i < row + width; ++i) x[i] = scale == 0 ? 0 : std::nearbyint(x[i] / scale);
        scales.push_back(scale);
    }
    return scales;
}

}  // namespace npusim
