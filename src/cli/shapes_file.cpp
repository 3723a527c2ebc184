// SPDX-License-Identifier: Apache-2.0
#include "cli/shapes_file.hpp"

#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "cli/csv.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cli {
namespace {

class Row {
  public:
    Row(const std::map<std::string, std::size_t>& columns, const std::vector<std::string>& fields)
        : m_columns(columns), m_fields(fields) {}

    [[nodiscard]] std::string text(const std::string& column) const {
        const auto found = m_columns.find(column);
        return found != m_columns.end() && found->second < m_fields.size() ? m_fields[found->second] : "";
    }

    [[nodiscard]] std::optional<int> number(const std::string& column) const {
        const std::string field = text(column);
        if (field.empty()) {
            return std::nullopt;
        }
        int value = 0;
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        if (error != std::errc() || end != field.data() + field.size()) {
            throw std::runtime_error("column " + column + " is no whole number: " + field);
        }
        // So that no sum or product of them leaves 64 bits.
        constexpr int most = 1 << 24;
        if (value < 0 || value > most) {
            throw std::runtime_error("column " + column + " is out of range: " + field);
        }
        return value;
    }

    [[nodiscard]] int required(const std::string& column) const {
        const auto value = number(column);
        if (!value) {
            throw std::runtime_error("column " + column + " is empty");
        }
        return *value;
    }

  private:
    const std::map<std::string, std::size_t>& m_columns;
    const std::vector<std::string>& m_fields;
};

Operation operation_of(const std::string& name) {
    if (name == "fwd") {
        return Operation::forward;
    }
    if (name == "bwd_data") {
        return Operation::backward_data;
    }
    if (name == "bwd_filter") {
        return Operation::backward_filter;
    }
    throw std::runtime_error("column op is none of fwd, bwd_data, bwd_filter: " + name);
}

Shape shape_of(const Row& row) {
    Shape shape;
    shape.id = row.text("id");
    shape.source = row.text("source");
    shape.model = row.text("model");
    shape.note = row.text("note");
    shape.operation = operation_of(row.text("op"));
    shape.dtype = row.text("dtype").empty() ? "fp32" : row.text("dtype");
    shape.is_channels_last = row.text("layout").ends_with("WC");
    shape.groups = row.number("groups").value_or(1);
    const int channels = row.required("C");
    if (shape.groups < 1 || channels % shape.groups != 0) {
        throw std::runtime_error("column groups does not divide C");
    }
    shape.x = {row.number("N").value_or(1), channels};
    shape.w = {row.required("K"), channels / shape.groups};
    shape.y = {shape.x[0], shape.w[0]};
    const bool has_depth = row.number("D").has_value();
    struct Axis {
        const char* size;
        const char* filter;
        std::string suffix;
    };
    for (const Axis& axis : {Axis{"D", "T", "d"}, Axis{"H", "R", "h"}, Axis{"W", "S", "w"}}) {
        if (axis.suffix == "d" && !has_depth) {
            continue;
        }
        const int size = row.number(axis.size).value_or(1);
        const int filter = row.number(axis.filter).value_or(1);
        const int pad = row.number("pad_" + axis.suffix).value_or(0);
        const int stride = row.number("stride_" + axis.suffix).value_or(1);
        const int dilation = row.number("dil_" + axis.suffix).value_or(1);
        const std::int64_t covered = (filter - std::int64_t{1}) * dilation + 1;
        if (stride < 1 || size + 2 * pad < covered) {
            throw std::runtime_error(std::string("the filter does not fit along ") + axis.size);
        }
        shape.x.push_back(size);
        shape.w.push_back(filter);
        shape.y.push_back(static_cast<int>((size + 2 * pad - covered) / stride + 1));
        shape.pads.push_back(pad);
        shape.strides.push_back(stride);
        shape.dilations.push_back(dilation);
    }
    return shape;
}

}  // namespace

ShapesFile read_shapes(const std::string& path) {
    constexpr std::int64_t most_bytes = 64 << 20;
    auto text = read_file(posix_file_system(), path, most_bytes);
    if (!text) {
        throw std::runtime_error(io_error("read", path, text.error_number()).message);
    }
    std::istringstream file(std::move(*text));
    const auto header = read_csv_record(file);
    if (!header) {
        throw std::runtime_error(path + " is empty");
    }
    std::map<std::string, std::size_t> columns;
    for (std::size_t i = 0; i < header->size(); ++i) {
        columns[(*header)[i]] = i;
    }
    for (const char* const needed : {"op", "C", "K"}) {
        if (!columns.contains(needed)) {
            throw std::runtime_error(path + " is no table of shapes: it has no column " + needed);
        }
    }
    ShapesFile contents;
    while (const auto record = read_csv_record(file)) {
        try {
            contents.shapes.push_back(shape_of(Row(columns, *record)));
        } catch (const std::runtime_error& error) {
            contents.left_out.push_back(record->front() + ": " + error.what());
        }
    }
    return contents;
}

}  // namespace cudnn_tune::cli
