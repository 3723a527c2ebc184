// SPDX-License-Identifier: Apache-2.0
#include "client/reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cudnn_tune::benchmarks {
namespace {

constexpr double k_most_products = 4e6;  // of all samples together: some ten milliseconds

using Index = std::vector<std::int64_t>;

// Positions of a packed tensor: batch, channels, then spatial dimensions.
class Layout {
  public:
    Layout(const std::vector<int>& dims, bool is_channels_last) : m_dims(dims.begin(), dims.end()) {
        m_strides.resize(m_dims.size());
        std::int64_t stride = 1;
        const auto lay = [&](std::size_t dim) {
            m_strides[dim] = stride;
            stride *= m_dims[dim];
        };
        if (is_channels_last) {
            lay(1);
        }
        for (std::size_t dim = m_dims.size(); dim-- > 2;) {
            lay(dim);
        }
        if (!is_channels_last) {
            lay(1);
        }
        lay(0);
        m_elements = stride;
    }

    [[nodiscard]] std::int64_t elements() const { return m_elements; }
    [[nodiscard]] std::int64_t dim(std::size_t i) const { return m_dims[i]; }
    [[nodiscard]] std::size_t nb_dims() const { return m_dims.size(); }
    [[nodiscard]] std::int64_t position(const Index& index) const {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < index.size(); ++i) {
            at += index[i] * m_strides[i];
        }
        return at;
    }
    // The number-th element, counting the last dimension fastest.
    [[nodiscard]] Index index(std::int64_t number) const {
        Index index(m_dims.size());
        for (std::size_t i = m_dims.size(); i-- > 0;) {
            index[i] = number % m_dims[i];
            number /= m_dims[i];
        }
        return index;
    }
    // False after the last one; dimensions before `first` stay.
    [[nodiscard]] bool next(Index& index, std::size_t first) const {
        for (std::size_t i = m_dims.size(); i-- > first;) {
            if (++index[i] < m_dims[i]) {
                return true;
            }
            index[i] = 0;
        }
        return false;
    }

  private:
    Index m_dims;
    Index m_strides;
    std::int64_t m_elements = 0;
};

struct Sum {
    double value = 0;
    double magnitude = 0;
    void add(double a, double b) {
        value += a * b;
        magnitude += std::abs(a * b);
    }
};

class Reference {
  public:
    Reference(const Shape& shape, const ReferenceInputs& inputs)
        : m_shape(shape),
          m_inputs(inputs),
          m_x(shape.x, shape.is_channels_last),
          m_w(shape.w, shape.is_channels_last),
          m_y(shape.y, shape.is_channels_last) {}

    [[nodiscard]] const Layout& output() const {
        return m_shape.operation == Operation::forward         ? m_y
               : m_shape.operation == Operation::backward_data ? m_x
                                                               : m_w;
    }
    [[nodiscard]] double products_of_one() const {
        const auto taps = static_cast<double>(m_w.elements()) / static_cast<double>(m_w.dim(0));
        switch (m_shape.operation) {
            case Operation::backward_data:
                return static_cast<double>(m_w.elements()) / static_cast<double>(m_w.dim(1)) / m_shape.groups;
            case Operation::backward_filter:
                return static_cast<double>(m_y.elements()) / static_cast<double>(m_y.dim(1));
            case Operation::forward:
                break;
        }
        return taps;
    }
    [[nodiscard]] Sum at(const Index& index) const {
        switch (m_shape.operation) {
            case Operation::backward_data:
                return data_gradient(index);
            case Operation::backward_filter:
                return filter_gradient(index);
            case Operation::forward:
                break;
        }
        return forward(index);
    }

  private:
    // The position of x that an output position and a tap meet at; false if it is in the padding.
    bool meet(const Index& y, const Index& w, Index& x) const {
        for (std::size_t i = 0; i + 2 < x.size(); ++i) {
            x[i + 2] = y[i + 2] * m_shape.strides[i] - m_shape.pads[i] + w[i + 2] * m_shape.dilations[i];
            if (x[i + 2] < 0 || x[i + 2] >= m_x.dim(i + 2)) {
                return false;
            }
        }
        return true;
    }

    Sum forward(const Index& y) const {
        const std::int64_t group = y[1] / (m_w.dim(0) / m_shape.groups);
        Index w(m_w.nb_dims());
        Index x(m_x.nb_dims());
        w[0] = y[1];
        x[0] = y[0];
        Sum sum;
        do {
            x[1] = group * m_w.dim(1) + w[1];
            if (meet(y, w, x)) {
                sum.add(m_inputs.x(m_x.position(x)), m_inputs.w(m_w.position(w)));
            }
        } while (m_w.next(w, 1));
        return sum;
    }

    Sum data_gradient(const Index& x) const {
        const std::int64_t group = x[1] / m_w.dim(1);
        const std::int64_t outputs = m_w.dim(0) / m_shape.groups;
        Index w(m_w.nb_dims());
        Index y(m_y.nb_dims());
        y[0] = x[0];
        Sum sum;
        for (std::int64_t k = group * outputs; k < (group + 1) * outputs; ++k) {
            w.assign(m_w.nb_dims(), 0);
            w[0] = k;
            w[1] = x[1] % m_w.dim(1);
            y[1] = k;
            do {
                bool inside = true;
                for (std::size_t i = 0; i + 2 < x.size() && inside; ++i) {
                    const std::int64_t at = x[i + 2] + m_shape.pads[i] - w[i + 2] * m_shape.dilations[i];
                    y[i + 2] = at / m_shape.strides[i];
                    inside = at >= 0 && at % m_shape.strides[i] == 0 && y[i + 2] < m_y.dim(i + 2);
                }
                if (inside) {
                    sum.add(m_inputs.w(m_w.position(w)), m_inputs.y(m_y.position(y)));
                }
            } while (m_w.next(w, 2));
        }
        return sum;
    }

    Sum filter_gradient(const Index& w) const {
        const std::int64_t group = w[0] / (m_w.dim(0) / m_shape.groups);
        Index y(m_y.nb_dims());
        Index x(m_x.nb_dims());
        x[1] = group * m_w.dim(1) + w[1];
        Sum sum;
        for (std::int64_t n = 0; n < m_y.dim(0); ++n) {
            y.assign(m_y.nb_dims(), 0);
            y[0] = n;
            y[1] = w[0];
            x[0] = n;
            do {
                if (meet(y, w, x)) {
                    sum.add(m_inputs.x(m_x.position(x)), m_inputs.y(m_y.position(y)));
                }
            } while (m_y.next(y, 2));
        }
        return sum;
    }

    const Shape& m_shape;
    const ReferenceInputs& m_inputs;
    Layout m_x;
    Layout m_w;
    Layout m_y;
};

}  // namespace

double largest_error(const Shape& shape, const ReferenceInputs& inputs, const Elements& output, int samples) {
    const Reference reference(shape, inputs);
    const std::int64_t elements = reference.output().elements();
    const double affordable = std::max(4.0, k_most_products / std::max(1.0, reference.products_of_one()));
    const std::int64_t count = std::min({std::int64_t{samples}, elements, static_cast<std::int64_t>(affordable)});
    double largest = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        // Off the edges of the steps, so that rows and tiles are met at different places.
        const std::int64_t number =
            (i * elements + i * i % std::max<std::int64_t>(1, elements / count) * count) / count;
        const Index index = reference.output().index(std::min(number, elements - 1));
        const Sum exact = reference.at(index);
        const double error = std::abs(output(reference.output().position(index)) - exact.value);
        // NaN counts as the largest, too.
        const double relative = exact.magnitude > 0 ? error / exact.magnitude : error;
        largest = relative <= largest ? largest : relative;
    }
    return largest;
}

}  // namespace cudnn_tune::benchmarks
