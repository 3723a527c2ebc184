// SPDX-License-Identifier: Apache-2.0
// Builds convolution graphs through cuDNN's backend API the way a program does, for tests. Works on any object that has
// the six functions: a real library, the simulated one, or whatever a program linked or found with dlsym.
// With a device description in JSON (cuDNN 9.8 and later) the real library answers without a GPU.
// Uses nothing of the engine but the types in abi/ and key/problem.hpp, so that it can judge the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"
#include "key/problem.hpp"

namespace cudnn_tune::test {

struct BackendApi {
    abi::GetVersionFn version = nullptr;
    abi::BackendCreateDescriptorFn create = nullptr;
    abi::BackendDescriptorFn destroy = nullptr;
    abi::BackendDescriptorFn initialize = nullptr;
    abi::BackendDescriptorFn finalize = nullptr;
    abi::BackendSetAttributeFn set = nullptr;
    abi::BackendGetAttributeFn get = nullptr;

    // By dlsym on the handle. Nothing if a function is missing.
    static std::optional<BackendApi> of(void* library);
};

// A descriptor that is destroyed with its owner. Every step is remembered: the first status that was not success, and
// what it was about.
class Descriptor {
  public:
    Descriptor() = default;
    Descriptor(const BackendApi& api, int type);
    Descriptor(Descriptor&& other) noexcept { *this = std::move(other); }
    Descriptor& operator=(Descriptor&& other) noexcept;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor();

    [[nodiscard]] abi::BackendDescriptor get() const { return m_descriptor; }
    [[nodiscard]] abi::Status status() const { return m_status; }
    [[nodiscard]] bool ok() const { return m_descriptor != nullptr && m_status == abi::k_success; }
    // "finalize: 3000", or empty.
    [[nodiscard]] const std::string& trouble() const { return m_trouble; }

    template <typename T>
    Descriptor& set(int name, int type, const T& value) {
        return set_values(name, type, 1, &value);
    }
    template <typename T>
    Descriptor& set(int name, int type, const std::vector<T>& values) {
        return set_values(name, type, static_cast<std::int64_t>(values.size()), values.data());
    }
    Descriptor& set(int name, const Descriptor& other);
    Descriptor& set_values(int name, int type, std::int64_t count, const void* values);
    Descriptor& finalize();
    // Destroys it now.
    void reset();

  private:
    void note(abi::Status status, const std::string& step);

    const BackendApi* m_api = nullptr;
    abi::BackendDescriptor m_descriptor = nullptr;
    abi::Status m_status = abi::k_success;
    std::string m_trouble;
};

enum class TensorOrder : std::uint8_t { channels_first, channels_last };

// Tensors are N, C, spatial…; the filter is K, C / groups, spatial….
struct ConvolutionShape {
    std::string id;
    key::Direction direction = key::Direction::forward;
    abi::DataType dtype = abi::k_float;
    abi::DataType compute_type = abi::k_float;
    TensorOrder order = TensorOrder::channels_first;
    std::vector<std::int64_t> x_dims;
    std::vector<std::int64_t> w_dims;
    std::vector<std::int64_t> pads;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    std::int64_t groups = 1;
    abi::ConvolutionMode mode = abi::k_cross_correlation;
    // Empty: packed in `order`.
    std::vector<std::int64_t> x_strides;
    std::vector<std::int64_t> w_strides;
    std::vector<std::int64_t> y_strides;
    std::int64_t alignment_bytes = 16;
    // Unset attributes of the operation if empty. As float, which is what frontends set.
    std::optional<float> alpha;
    std::optional<float> beta;
    // Forward only: the result goes through an addition of one value a channel and a ReLU.
    bool bias_relu = false;
    bool reverse_operations = false;  // in the graph's list, where order means nothing

    [[nodiscard]] std::vector<std::int64_t> y_dims() const;
    // All sizes positive, and every tensor of `order` has a place for its dims.
    [[nodiscard]] bool valid() const;
};

[[nodiscard]] std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& dims, TensorOrder order);

// Unique ids are `first_id`, `first_id` + 1, …: they change nothing in any answer.
[[nodiscard]] Descriptor build_graph(const BackendApi& api, const ConvolutionShape& shape, abi::Handle handle = nullptr,
                                     std::int64_t first_id = 1);
[[nodiscard]] Descriptor build_device_properties(const BackendApi& api, std::string_view json);

struct HeuristicsOptions {
    int mode = abi::k_mode_instant;
    const Descriptor* device_properties = nullptr;
    std::int32_t sm_count_target = -1;  // -1: not set
};
[[nodiscard]] Descriptor build_heuristics(const BackendApi& api, const Descriptor& graph,
                                          const HeuristicsOptions& options);

// What a program can read of an engine configuration.
struct Configuration {
    std::int64_t engine = -1;
    std::vector<std::pair<int, std::int64_t>> knobs;  // ordered by type
    std::int64_t workspace_bytes = -1;
    std::vector<int> numerical_notes;  // ordered
    std::vector<int> behavior_notes;   // ordered
    bool operator==(const Configuration&) const = default;
};
// "eng5_k2=3_k7=1 workspace=0 numerical=0,4 behavior=3".
[[nodiscard]] std::string to_text(const Configuration& configuration);
// Nothing if the descriptor holds no configuration.
[[nodiscard]] std::optional<Configuration> read_configuration(const BackendApi& api,
                                                              abi::BackendDescriptor configuration);

// As programs do: ask for the count, make that many empty descriptors, have them filled. `status` of the last call.
struct ConfigurationList {
    abi::Status status = abi::k_success;
    std::int64_t announced = 0;
    std::vector<Descriptor> descriptors;  // cut to what was filled
};
[[nodiscard]] ConfigurationList query_configurations(const BackendApi& api, const Descriptor& heuristics);

// The problems of a CSV file of benchmarks/shapes. Rows that name no data type or that this builder cannot express are
// left out.
[[nodiscard]] std::vector<ConvolutionShape> read_shapes(const std::string& csv_path);
// Of all CSV files of a folder, in the order of their names.
[[nodiscard]] std::vector<ConvolutionShape> read_all_shapes(const std::string& folder);
// A problem and the same in other forms: fp16 and bf16 with channels last, and with bias and ReLU behind a forward one.
// Their ids are the problem's with "/fp16-last", "/bf16-last", "/bias-relu", "/fp16-last/bias-relu".
[[nodiscard]] std::vector<ConvolutionShape> forms_of(const ConvolutionShape& shape);

}  // namespace cudnn_tune::test
