// SPDX-License-Identifier: Apache-2.0
#include "cudnn/selection.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "common/call_log.hpp"
#include "cudnn/cost_model.hpp"
#include "cudnn/kernel.hpp"
#include "cudnn/reference.hpp"
#include "cudnn/status.hpp"
#include "cudnn/variant.hpp"

namespace cudnn_tune::sim {
namespace {

std::optional<Geometry> geometry_of(const LegacyCall& call) {
    return legacy_geometry(call.direction, call.first, call.second, call.convolution, call.result);
}

abi::AlgoPerf perf_of(const Choice& choice, const Cost& cost) {
    abi::AlgoPerf perf{};
    perf.algo = choice.algorithm;
    perf.status = api_status(cost.status);
    perf.time = -1.0F;
    perf.memory = cost.status == Outcome::success ? cost.listed_workspace_bytes.value_or(cost.workspace_bytes) : 0;
    perf.determinism = cost.determinism;
    perf.math_type = choice.math;
    return perf;
}

int copy(const std::vector<abi::AlgoPerf>& from, int requested, int* returned, abi::AlgoPerf* to) {
    const auto count = std::min(from.size(), static_cast<std::size_t>(requested));
    std::copy_n(from.begin(), count, to);
    if (returned != nullptr) {
        *returned = static_cast<int>(count);
    }
    return static_cast<int>(count);
}

void describe(LogLine& line, const LegacyCall& call) {
    line.add("library", k_variant.name).add("direction", direction_name(call.direction));
    if (call.handle != nullptr) {
        line.add("stream_handle", static_cast<const LegacyHandle*>(call.handle)->stream);
    }
}

double scalar(const void* pointer, const Geometry& geometry) {
    return geometry.convolution.compute == abi::k_double ? *static_cast<const double*>(pointer)
                                                         : double{*static_cast<const float*>(pointer)};
}

Operands operands_of(Direction direction, const void* first, const void* second, void* result) {
    Operands operands;
    switch (direction) {
        case Direction::forward:
            operands.x = first;
            operands.w = second;
            operands.y = result;
            break;
        case Direction::backward_data:
            operands.w = first;
            operands.y = second;
            operands.x = result;
            break;
        case Direction::backward_filter:
            operands.x = first;
            operands.y = second;
            operands.w = result;
            break;
    }
    operands.output = result;
    return operands;
}

void set_operands(Kernel& kernel, const Geometry& geometry, const Operands& operands) {
    kernel.ranges = {
        {operands.x, geometry.x.bytes()}, {operands.w, geometry.w.bytes()}, {operands.y, geometry.y.bytes()}};
    kernel.output = {operands.output, geometry.output().bytes()};
    kernel.input = kernel.ranges[geometry.direction == Direction::backward_data ? 2 : 0];
    kernel.input_type = geometry.x.type;
    kernel.compute = [&geometry, operands] {
        if (is_computed(geometry)) {
            convolve(geometry, operands);
        } else {
            write_pattern(geometry.output(), operands.output);
        }
    };
}

// Device memory of a Find function that was given none.
class Scratch {
  public:
    Scratch(const DriverCalls& driver, std::uint64_t bytes) : m_driver(driver) {
        m_valid = bytes == 0 || driver.mem_alloc(&m_pointer, bytes) == abi::k_cu_success;
    }
    ~Scratch() {
        if (m_pointer != 0) {
            (void)m_driver.mem_free(m_pointer);
        }
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    bool valid() const { return m_valid; }
    void* get() const { return std::bit_cast<void*>(m_pointer); }

  private:
    const DriverCalls& m_driver;
    abi::CuDevicePtr m_pointer = 0;
    bool m_valid = false;
};

class CallerMark {
  public:
    CallerMark(const DriverCalls& driver, const char* function)
        : m_driver(driver), m_before(driver.set_caller(function)) {}
    ~CallerMark() { m_driver.set_caller(m_before); }
    CallerMark(const CallerMark&) = delete;
    CallerMark& operator=(const CallerMark&) = delete;

  private:
    const DriverCalls& m_driver;
    const char* m_before;
};

abi::AlgoPerf time_one(const DriverCalls& driver, const LegacyCall& call, const Geometry& geometry,
                       const Choice& choice, const FindBuffers& buffers, bool own_workspace) {
    Cost cost = legacy_cost(geometry, choice, current_device());
    abi::AlgoPerf perf = perf_of(choice, cost);
    if (cost.status != Outcome::success) {
        return perf;
    }
    const Scratch scratch(driver, own_workspace ? cost.workspace_bytes : 0);
    if (!scratch.valid() || (!own_workspace && cost.workspace_bytes > buffers.workspace_bytes)) {
        perf.status = api_status(Outcome::alloc_failed);
        return perf;
    }
    Kernel kernel;
    kernel.caller = call.function;
    kernel.algorithm = choice.algorithm;
    kernel.math = choice.math;
    kernel.stream = static_cast<const LegacyHandle*>(call.handle)->stream;
    kernel.workspace = own_workspace ? scratch.get() : buffers.workspace;
    kernel.workspace_bytes = own_workspace ? cost.workspace_bytes : buffers.workspace_bytes;
    set_operands(kernel, geometry, operands_of(call.direction, buffers.first, buffers.second, buffers.result));
    double time_us = 0.0;
    const Outcome outcome = run_kernel(geometry, cost, kernel, &time_us);
    (void)driver.stream_synchronize(kernel.stream);
    perf.status = api_status(outcome);
    perf.time = outcome == Outcome::success ? static_cast<float>(time_us / 1000.0) : -1.0F;
    return perf;
}

Outcome time_all(const LegacyCall& call, const Geometry& geometry, const FindBuffers* given,
                 std::vector<abi::AlgoPerf>& results) {
    const DriverCalls* const driver = driver_calls();
    if (driver == nullptr) {
        return Outcome::not_initialized;
    }
    const CallerMark mark(*driver, call.function);
    if (driver->stream_synchronize(static_cast<const LegacyHandle*>(call.handle)->stream) != abi::k_cu_success) {
        return Outcome::execution_failed;
    }
    FindBuffers buffers;
    const Scratch x(*driver, given == nullptr ? geometry.x.bytes() : 0);
    const Scratch w(*driver, given == nullptr ? geometry.w.bytes() : 0);
    const Scratch y(*driver, given == nullptr ? geometry.y.bytes() : 0);
    if (!x.valid() || !w.valid() || !y.valid()) {
        return Outcome::alloc_failed;
    }
    if (given != nullptr) {
        buffers = *given;
    } else {
        switch (call.direction) {
            case Direction::forward:
                buffers = {x.get(), w.get(), y.get()};
                break;
            case Direction::backward_data:
                buffers = {w.get(), y.get(), x.get()};
                break;
            case Direction::backward_filter:
                buffers = {x.get(), y.get(), w.get()};
                break;
        }
    }
    for (const Choice& choice : heuristic_list(geometry, current_device())) {
        results.push_back(time_one(*driver, call, geometry, choice, buffers, given == nullptr));
    }
    std::stable_sort(results.begin(), results.end(), [](const abi::AlgoPerf& a, const abi::AlgoPerf& b) {
        const auto key = [](const abi::AlgoPerf& perf) { return perf.status == abi::k_success ? perf.time : 1e30F; };
        return key(a) < key(b);
    });
    return Outcome::success;
}

}  // namespace

abi::Status get_max_count(const char* function, Direction direction, abi::Handle handle, int* count) {
    LogLine line(function);
    if (handle == nullptr || count == nullptr) {
        return line.result(finish(Outcome::bad_param, function));
    }
    *count = max_count(direction);
    return line.result(abi::k_success);
}

abi::Status get_algorithms(const LegacyCall& call, int requested, int* returned, abi::AlgoPerf* results) {
    LogLine line(call.function);
    describe(line, call);
    line.add("requested", requested);
    const auto geometry = geometry_of(call);
    if (!geometry || call.handle == nullptr || requested < 1 || results == nullptr) {
        return line.result(finish(Outcome::bad_param, call.function));
    }
    std::vector<abi::AlgoPerf> list;
    for (const Choice& choice : heuristic_list(*geometry, current_device())) {
        list.push_back(perf_of(choice, legacy_cost(*geometry, choice, current_device())));
    }
    line.add("returned", copy(list, requested, returned, results));
    return line.result(abi::k_success);
}

abi::Status find_algorithms(const LegacyCall& call, const FindBuffers* buffers, int requested, int* returned,
                            abi::AlgoPerf* results) {
    LogLine line(call.function);
    describe(line, call);
    line.add("requested", requested);
    const auto geometry = geometry_of(call);
    const bool no_buffers =
        buffers != nullptr && (buffers->first == nullptr || buffers->second == nullptr || buffers->result == nullptr);
    if (!geometry || call.handle == nullptr || requested < 1 || results == nullptr || no_buffers) {
        return line.result(finish(Outcome::bad_param, call.function));
    }
    if (buffers != nullptr) {
        line.add("workspace", buffers->workspace).add("workspace_bytes", std::uint64_t{buffers->workspace_bytes});
        line.add("output", buffers->result);
    }
    std::vector<abi::AlgoPerf> list;
    const Outcome outcome = time_all(call, *geometry, buffers, list);
    if (outcome == Outcome::success) {
        line.add("returned", copy(list, requested, returned, results));
    }
    return line.result(finish(outcome, call.function));
}

abi::Status get_workspace_size(const LegacyCall& call, int algorithm, std::size_t* bytes) {
    LogLine line(call.function);
    describe(line, call);
    line.add("algorithm", algorithm);
    const auto geometry = geometry_of(call);
    if (!geometry || call.handle == nullptr || bytes == nullptr) {
        return line.result(finish(Outcome::bad_param, call.function));
    }
    line.add("math_type", geometry->convolution.math);
    const Cost cost = legacy_cost(*geometry, {algorithm, geometry->convolution.math}, current_device());
    if (cost.status == Outcome::success) {
        *bytes = cost.workspace_bytes;
        line.add("workspace_bytes", cost.workspace_bytes);
    }
    return line.result(finish(cost.status, call.function));
}

abi::Status get_algorithm(const LegacyCall& call, abi::AlgorithmPreference preference, std::size_t limit_bytes,
                          int* algorithm) {
    LogLine line(call.function);
    describe(line, call);
    line.add("preference", preference).add("limit_bytes", std::uint64_t{limit_bytes});
    const auto geometry = geometry_of(call);
    if (!geometry || call.handle == nullptr || algorithm == nullptr || preference < 0 ||
        preference > abi::k_specify_workspace_limit) {
        return line.result(finish(Outcome::bad_param, call.function));
    }
    for (const Choice& choice : heuristic_list(*geometry, current_device())) {
        const Cost cost = legacy_cost(*geometry, choice, current_device());
        const bool fits = preference == abi::k_prefer_fastest ||
                          cost.workspace_bytes <= (preference == abi::k_no_workspace ? 0 : limit_bytes);
        if (cost.status == Outcome::success && fits) {
            *algorithm = choice.algorithm;
            line.add("algorithm", choice.algorithm);
            return line.result(abi::k_success);
        }
    }
    return line.result(finish(Outcome::not_supported, call.function));
}

namespace {

Kernel kernel_of(const LegacyCall& call, const Geometry& geometry, int algorithm, void* workspace,
                 std::size_t workspace_bytes) {
    Kernel kernel;
    kernel.caller = call.function;
    kernel.algorithm = algorithm;
    kernel.math = geometry.convolution.math;
    kernel.stream = static_cast<const LegacyHandle*>(call.handle)->stream;
    kernel.workspace = workspace;
    kernel.workspace_bytes = workspace_bytes;
    return kernel;
}

}  // namespace

abi::Status run_convolution(const LegacyCall& call, const void* alpha, const void* first, const void* second,
                            int algorithm, void* workspace, std::size_t workspace_bytes, const void* beta,
                            void* result) {
    const auto geometry = geometry_of(call);
    if (!geometry || call.handle == nullptr || alpha == nullptr || beta == nullptr || first == nullptr ||
        second == nullptr || result == nullptr) {
        return LogLine(call.function).result(finish(Outcome::bad_param, call.function));
    }
    Kernel kernel = kernel_of(call, *geometry, algorithm, workspace, workspace_bytes);
    Operands operands = operands_of(call.direction, first, second, result);
    operands.alpha = scalar(alpha, *geometry);
    operands.beta = scalar(beta, *geometry);
    set_operands(kernel, *geometry, operands);
    const Cost cost = legacy_cost(*geometry, {algorithm, kernel.math}, current_device());
    return finish(run_kernel(*geometry, cost, kernel), call.function);
}

namespace {

// y = activation(convolution + alpha2 * z + bias), for float tensors of four dimensions; z may lie where y does.
void compute_fused(const Geometry& geometry, Operands operands, const Epilogue& epilogue) {
    std::vector<float> convolved(geometry.y.bytes() / sizeof(float), 0.0F);
    auto* const y = static_cast<float*>(operands.output);
    operands.output = convolved.data();
    convolve(geometry, operands);
    const bool has_relu = static_cast<const LegacyActivation*>(epilogue.activation)->mode == 1;
    const auto* const z = static_cast<const float*>(epilogue.z);
    const auto* const bias = static_cast<const float*>(epilogue.bias);
    const float alpha2 = *static_cast<const float*>(epilogue.alpha2);
    const auto& dims = geometry.y.dims;
    const auto& strides = geometry.y.strides;
    for (std::int64_t n = 0; n < dims[0]; ++n) {
        for (std::int64_t c = 0; c < dims[1]; ++c) {
            for (std::int64_t h = 0; h < dims[2]; ++h) {
                for (std::int64_t w = 0; w < dims[3]; ++w) {
                    const std::int64_t at = n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3];
                    const float added = (alpha2 == 0.0F ? 0.0F : alpha2 * z[at]) + bias[c];
                    const float sum = convolved[static_cast<std::size_t>(at)] + added;
                    y[at] = has_relu && sum < 0.0F ? 0.0F : sum;
                }
            }
        }
    }
}

}  // namespace

abi::Status run_fused(const LegacyCall& call, const void* alpha, const void* first, const void* second, int algorithm,
                      void* workspace, std::size_t workspace_bytes, const Epilogue& epilogue, void* result) {
    const auto geometry = geometry_of(call);
    if (!geometry || call.handle == nullptr || alpha == nullptr || epilogue.alpha2 == nullptr || first == nullptr ||
        second == nullptr || result == nullptr || epilogue.z_descriptor == nullptr || epilogue.z == nullptr ||
        epilogue.bias_descriptor == nullptr || epilogue.bias == nullptr || epilogue.activation == nullptr) {
        return LogLine(call.function).result(finish(Outcome::bad_param, call.function));
    }
    Kernel kernel = kernel_of(call, *geometry, algorithm, workspace, workspace_bytes);
    Operands operands = operands_of(call.direction, first, second, result);
    operands.alpha = scalar(alpha, *geometry);
    set_operands(kernel, *geometry, operands);
    if (is_computed(*geometry) && geometry->y.dims.size() == 4) {
        kernel.compute = [&] { compute_fused(*geometry, operands, epilogue); };
    }
    const Cost cost = legacy_cost(*geometry, {algorithm, kernel.math}, current_device());
    return finish(run_kernel(*geometry, cost, kernel), call.function);
}

}  // namespace cudnn_tune::sim
