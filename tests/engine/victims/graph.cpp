// SPDX-License-Identifier: Apache-2.0
// A program of the graph API that does what its arguments say, in their order, and prints a line for each answer.
// It knows nothing of cudnn-tune. The arguments:
//   kind=… direction=… shape=N batch=N type=N alignment=N alpha=F beta=F ids=N reverse   the graph of what follows
//   handle=on|off         whether the graph gets the handle
//   stream=blocking|non_blocking|legacy begin end   of the handle; a capture of that stream
//   device=NAME,SMS,CC    a DEVICEPROP object of that GPU; device=none
//   sm=N mode=instant|b|fallback|a   of the heuristics
//   gpu=N                 another GPU, with a handle of its own
//   list                  as frontends do: ask for the count, fill that many
//   some=N                fill N without asking for the count
//   null_count=N          the same with a NULL elementCount
//   slots=en…             fill slots that are e: empty, n: NULL, f: filled already
//   refill                fill twice into the same slots, then once more after cudnnBackendInitialize
//   bad                   calls that are wrong in several ways
//   early_destroy         list, with the graph destroyed before the question; `late` ones after it
//   step                  the first configuration of the list that can be built is executed
//   bench                 all configurations of the list are built and executed
//   steps=N               the plan of the last step is executed N times with a fresh variant pack
//   capture_while=N       a thread captures in a loop while this one lists N different problems
//   threads=N,same|different|modes
//   error                 cudnnGetLastErrorString
//   check                 device, stream and capture mode of the thread
// and those of interpreter.hpp.
#include <atomic>
#include <cinttypes>
#include <cstring>
#include <memory>
#include <thread>

#include "graph_problem.hpp"
#include "interpreter.hpp"

namespace victim {
namespace {

std::string text_of(abi::BackendDescriptor configuration) {
    const auto read = test::read_configuration(backend(), configuration);
    std::string text = "[";
    return text.append(read ? test::to_text(*read) : "empty").append("]");
}

class Client {
  public:
    Client() { open_handle(); }

    void open_handle() {
        if (cudnn().cudnnCreate(&m_handle) != 0) {
            m_handle = nullptr;
        }
    }

    GraphOptions options;
    int mode = abi::k_mode_instant;
    std::int32_t sm_target = -1;
    bool with_handle = true;
    std::string device;

    // Fresh for each question, as in a program that is asked for one convolution after another.
    struct Question {
        std::unique_ptr<Graph> graph;
        Descriptor properties;
        Descriptor heuristics;
    };
    [[nodiscard]] Question question() const {
        Question made;
        made.graph = std::make_unique<Graph>(options, with_handle ? m_handle : nullptr);
        test::HeuristicsOptions heuristics;
        heuristics.mode = mode;
        heuristics.sm_count_target = sm_target;
        if (!device.empty()) {
            made.properties = test::build_device_properties(backend(), device);
            require(made.properties.ok(), made.properties.trouble().c_str());
            heuristics.device_properties = &made.properties;
        }
        made.heuristics = test::build_heuristics(backend(), made.graph->get(), heuristics);
        require(made.heuristics.ok(), made.heuristics.trouble().c_str());
        return made;
    }

    [[nodiscard]] std::string list() const { return list_of(question()); }
    [[nodiscard]] std::string early_destroy() const {
        Question asked = question();
        asked.graph->destroy();
        return list_of(asked);
    }

    [[nodiscard]] std::string some(std::int64_t requested, bool with_count) const {
        const Question asked = question();
        std::vector<Descriptor> slots = empty_slots(static_cast<std::size_t>(requested));
        std::vector<abi::BackendDescriptor> pointers = pointers_of(slots);
        std::int64_t count = -77;
        const int status =
            backend().get(asked.heuristics.get(), abi::k_engineheur_results, abi::k_type_backend_descriptor, requested,
                          with_count ? &count : nullptr, pointers.data());
        return "some: status=" + std::to_string(status) + " count=" + std::to_string(count) + texts_of(pointers);
    }

    [[nodiscard]] std::string with_slots(const std::string& pattern) const {
        const Question asked = question();
        std::vector<Descriptor> slots = empty_slots(pattern.size());
        std::vector<abi::BackendDescriptor> pointers = pointers_of(slots);
        for (std::size_t i = 0; i < pattern.size(); ++i) {
            if (pattern[i] == 'f') {
                (void)fill(asked.heuristics, {pointers[i]});
            }
        }
        for (std::size_t i = 0; i < pattern.size(); ++i) {
            pointers[i] = pattern[i] == 'n' ? nullptr : pointers[i];
        }
        const std::string answer = fill(asked.heuristics, pointers);
        return "slots " + pattern + ":" + answer + texts_of(pointers_of(slots));
    }

    [[nodiscard]] std::string refill() const {
        const Question asked = question();
        const std::vector<Descriptor> slots = empty_slots(3);
        const std::vector<abi::BackendDescriptor> pointers = pointers_of(slots);
        std::string text = "refill:";
        for (int i = 0; i < 3; ++i) {
            text += fill(asked.heuristics, pointers);
            text += texts_of(pointers);
            for (const abi::BackendDescriptor slot : pointers) {
                require(i != 1 || backend().initialize(slot) == 0, "cudnnBackendInitialize");
            }
        }
        return text;
    }

    void bad() const {
        const Question asked = question();
        const std::vector<Descriptor> slots = empty_slots(2);
        std::vector<abi::BackendDescriptor> pointers = pointers_of(slots);
        const Descriptor unfinished(backend(), abi::k_engineheur_descriptor);
        const auto call = [&](const char* what, abi::BackendDescriptor heuristics, int name, int type,
                              std::int64_t requested, void* elements) {
            std::int64_t count = -77;
            const int status = backend().get(heuristics, name, type, requested, &count, elements);
            std::printf("bad %s: status=%d count=%" PRId64 "%s\n", what, status, count, texts_of(pointers).c_str());
        };
        const int results = abi::k_engineheur_results;
        const int descriptor = abi::k_type_backend_descriptor;
        call("descriptor", nullptr, results, descriptor, 2, pointers.data());
        call("unfinished", unfinished.get(), results, descriptor, 2, pointers.data());
        call("type", asked.heuristics.get(), results, abi::k_type_int64, 2, pointers.data());
        call("negative", asked.heuristics.get(), results, descriptor, -1, pointers.data());
        call("array", asked.heuristics.get(), results, descriptor, 2, nullptr);
        call("object", asked.graph->get().get(), results, descriptor, 2, pointers.data());
        call("count", asked.heuristics.get(), results, descriptor, 0, nullptr);
    }

    // Builds and executes; all of the list, or the first that can be built.
    [[nodiscard]] std::string execute(bool all) {
        m_last = question();
        std::vector<Descriptor> slots;
        std::vector<abi::BackendDescriptor> pointers = filled(m_last.heuristics, slots);
        std::string text;
        for (const abi::BackendDescriptor configuration : pointers) {
            m_plan = Descriptor(backend(), abi::k_plan_descriptor);
            m_plan.set(abi::k_plan_handle, abi::k_type_handle, m_handle)
                .set_values(abi::k_plan_engine_config, abi::k_type_backend_descriptor, 1, &configuration)
                .finalize();
            if (!m_plan.ok()) {
                continue;
            }
            prepare();
            text.append(" ").append(text_of(configuration));
            text += " status=" + std::to_string(run_once());
            text += " output=" + output();
            if (!all) {
                return "step:" + text;
            }
        }
        return (all ? "bench:" : "step: nothing can be built") + text;
    }

    [[nodiscard]] std::string steps(int count) const {
        int status = 0;
        for (int i = 0; i < count && status == 0; ++i) {
            status = run_once();
        }
        return "steps: status=" + std::to_string(status) + " output=" + output();
    }

    void use_stream(const std::string& kind) {
        m_stream = nullptr;
        if (kind != "legacy") {
            require(cuStreamCreate(&m_stream, kind == "non_blocking" ? 1 : 0) == 0, "cuStreamCreate");
        }
        require(cudnn().cudnnSetStream(m_handle, m_stream) == 0, "cudnnSetStream");
    }
    void begin_capture() const { require(cuStreamBeginCapture_v2(m_stream, 0) == 0, "beginning a capture"); }
    void end_capture() const { end_capture_of(m_stream); }

    void check() const {
        int number = -1;
        void* stream = nullptr;
        const int capture_mode = capture_mode_of_thread();
        cuCtxGetDevice(&number);
        cudnn().cudnnGetStream(m_handle, &stream);
        std::printf("check: device=%d stream=%d mode=%d\n", number, stream == m_stream ? 1 : 0, capture_mode);
    }

  private:
    static std::vector<Descriptor> empty_slots(std::size_t count) {
        std::vector<Descriptor> slots;
        for (std::size_t i = 0; i < count; ++i) {
            slots.emplace_back(backend(), abi::k_enginecfg_descriptor);
        }
        return slots;
    }
    static std::vector<abi::BackendDescriptor> pointers_of(const std::vector<Descriptor>& slots) {
        std::vector<abi::BackendDescriptor> pointers;
        pointers.reserve(slots.size());
        for (const Descriptor& slot : slots) {
            pointers.push_back(slot.get());
        }
        return pointers;
    }
    static std::string texts_of(const std::vector<abi::BackendDescriptor>& slots) {
        std::string text;
        for (const abi::BackendDescriptor slot : slots) {
            text.append(" ").append(slot == nullptr ? "[null]" : text_of(slot));
        }
        return text;
    }
    static std::string fill(const Descriptor& heuristics, std::vector<abi::BackendDescriptor> slots) {
        std::int64_t count = -77;
        const int status = backend().get(heuristics.get(), abi::k_engineheur_results, abi::k_type_backend_descriptor,
                                         static_cast<std::int64_t>(slots.size()), &count, slots.data());
        return " status=" + std::to_string(status) + " count=" + std::to_string(count);
    }
    // The count question, then that many slots; those that were filled.
    static std::vector<abi::BackendDescriptor> filled(const Descriptor& heuristics, std::vector<Descriptor>& slots,
                                                      std::string* text = nullptr) {
        std::int64_t announced = -77;
        const int asked = backend().get(heuristics.get(), abi::k_engineheur_results, abi::k_type_backend_descriptor, 0,
                                        &announced, nullptr);
        slots = empty_slots(static_cast<std::size_t>(std::max<std::int64_t>(announced, 0)));
        std::vector<abi::BackendDescriptor> pointers = pointers_of(slots);
        std::int64_t count = 0;
        const int status = backend().get(heuristics.get(), abi::k_engineheur_results, abi::k_type_backend_descriptor,
                                         announced, &count, pointers.data());
        if (text != nullptr) {
            *text = "announced=" + std::to_string(announced) + " status=" + std::to_string(asked) + "," +
                    std::to_string(status) + " count=" + std::to_string(count);
        }
        pointers.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
        return pointers;
    }
    [[nodiscard]] std::string list_of(const Question& asked) const {
        std::vector<Descriptor> slots;
        std::string text;
        const auto pointers = filled(asked.heuristics, slots, &text);
        return "list " + std::to_string(options.shape) + " " + std::to_string(mode) + ": " + text + texts_of(pointers);
    }

    // Memory and workspace for the plan.
    void prepare() {
        m_buffers.clear();
        for (const auto& [id, floats] : m_last.graph->tensors()) {
            m_buffers.emplace(id, std::make_unique<DeviceBuffer>(floats, 1.0F + static_cast<float>(id % 3)));
        }
        std::int64_t bytes = 0;
        std::int64_t count = 0;
        require(backend().get(m_plan.get(), abi::k_plan_workspace_size, abi::k_type_int64, 1, &count, &bytes) == 0,
                "the workspace size");
        m_workspace = std::make_unique<DeviceBuffer>(static_cast<std::size_t>(bytes / 4 + 1));
    }
    [[nodiscard]] int run_once() const {
        std::vector<std::int64_t> ids;
        std::vector<void*> pointers;
        std::map<std::int64_t, float> scalars = m_last.graph->scalars();
        for (const auto& [id, buffer] : m_buffers) {
            ids.push_back(id);
            pointers.push_back(buffer->get());
        }
        for (auto& [id, value] : scalars) {
            ids.push_back(id);
            pointers.push_back(&value);
        }
        Descriptor pack(backend(), abi::k_variant_pack_descriptor);
        pack.set(abi::k_variant_pack_unique_ids, abi::k_type_int64, ids)
            .set(abi::k_variant_pack_data_pointers, abi::k_type_void_ptr, pointers)
            .set(abi::k_variant_pack_workspace, abi::k_type_void_ptr, m_workspace->get())
            .finalize();
        require(pack.ok(), pack.trouble().c_str());
        return cudnn().cudnnBackendExecute(m_handle, m_plan.get(), pack.get());
    }
    [[nodiscard]] std::string output() const {
        char text[32];
        std::snprintf(text, sizeof text, "%016" PRIx64, m_buffers.at(m_last.graph->output())->hash());
        return text;
    }

    abi::Handle m_handle = nullptr;
    abi::Stream m_stream = nullptr;
    Question m_last;
    Descriptor m_plan;
    std::map<std::int64_t, std::unique_ptr<DeviceBuffer>> m_buffers;
    std::unique_ptr<DeviceBuffer> m_workspace;
};

// `what`: "same" question, "different" problems, or "modes": one problem, of which every second thread asks for list B.
void list_in_threads(const Client& like, std::size_t count, const std::string& what) {
    std::vector<std::string> answers(count);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> ready{0};
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            open_device();
            Client client;
            client.options = like.options;
            client.with_handle = like.with_handle;
            client.options.shape += what == "different" ? static_cast<int>(i) : 0;
            client.mode = what == "modes" && i % 2 == 1 ? abi::k_mode_b : abi::k_mode_instant;
            client.options.first_id = 1 + 100 * static_cast<std::int64_t>(i);
            ready.fetch_add(1);
            while (ready.load() < count) {
                std::this_thread::yield();
            }
            answers[i] = client.list();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::string& answer : answers) {
        say(answer);
    }
}

class GraphInterpreter final : public Interpreter {
  public:
    using Interpreter::Interpreter;

  private:
    bool step(const std::string& name, const std::string& value) override {
        return set(name, value) || ask(name, value);
    }

    bool set(const std::string& name, const std::string& value) {
        GraphOptions& options = m_client.options;
        if (name == "kind") {
            options.kind = value;
        } else if (name == "direction") {
            options.direction = value;
        } else if (name == "shape") {
            options.shape = std::stoi(value);
        } else if (name == "batch") {
            options.batch = std::stoll(value);
        } else if (name == "type") {
            options.type = std::stoi(value);
        } else if (name == "alignment") {
            options.alignment = std::stoi(value);
        } else if (name == "ids") {
            options.first_id = std::stoi(value);
        } else if (name == "alpha") {
            options.alpha = std::stof(value);
        } else if (name == "beta") {
            options.beta = std::stof(value);
        } else if (name == "reverse") {
            options.reverse = !options.reverse;
        } else if (name == "handle") {
            m_client.with_handle = value == "on";
        } else if (name == "sm") {
            m_client.sm_target = std::stoi(value);
        } else if (name == "mode") {
            m_client.mode = value == "b"          ? abi::k_mode_b
                            : value == "fallback" ? abi::k_mode_fallback
                            : value == "a"        ? abi::k_mode_a
                                                  : abi::k_mode_instant;
        } else if (name == "device") {
            const std::vector<std::string> parts = split(value, ',');
            m_client.device = value == "none" ? ""
                                              : R"({"deviceName":")" + parts.at(0) + R"(","multiProcessorCount":)" +
                                                    parts.at(1) + R"(,"deviceVer":)" + parts.at(2) + "}";
        } else {
            return false;
        }
        return true;
    }

    bool ask(const std::string& name, const std::string& value) {
        if (name == "gpu") {
            open_device(std::stoi(value));
            m_client.open_handle();
        } else if (name == "list") {
            say(m_client.list());
        } else if (name == "early_destroy") {
            say(m_client.early_destroy());
        } else if (name == "some" || name == "null_count") {
            say(m_client.some(std::stoi(value), name == "some"));
        } else if (name == "slots") {
            say(m_client.with_slots(value));
        } else if (name == "refill") {
            say(m_client.refill());
        } else if (name == "bad") {
            m_client.bad();
        } else if (name == "step" || name == "bench") {
            say(m_client.execute(name == "bench"));
        } else if (name == "steps") {
            say(m_client.steps(std::stoi(value)));
        } else if (name == "capture_while") {
            capture_while(std::stoi(value));
        } else if (name == "threads") {
            const std::vector<std::string> parts = split(value, ',');
            list_in_threads(m_client, std::stoull(parts.at(0)), parts.at(1));
        } else if (name == "stream") {
            m_client.use_stream(value);
        } else if (name == "begin") {
            m_client.begin_capture();
        } else if (name == "end") {
            m_client.end_capture();
        } else if (name == "check") {
            m_client.check();
        } else if (name == "error") {
            char text[256] = "";
            cudnn().cudnnGetLastErrorString(text, sizeof text);
            say(std::string("error: ") + text);
        } else {
            return false;
        }
        return true;
    }

    void capture_while(int count) {
        std::atomic<bool> stop{false};
        std::atomic<int> captured{0};
        bool valid = true;
        std::thread capturer([&] {
            open_device();
            abi::Stream stream = nullptr;
            require(cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
            while (!stop.load()) {
                void* graph = nullptr;
                require(cuStreamBeginCapture_v2(stream, 0) == 0, "beginning a capture");
                captured.fetch_add(1);
                std::this_thread::yield();
                valid = cuStreamEndCapture(stream, &graph) == 0 && graph != nullptr && valid;
            }
        });
        while (captured.load() == 0) {
            std::this_thread::yield();
        }
        for (int i = 0; i < count; ++i) {
            ++m_client.options.shape;
            say(m_client.list());
        }
        stop.store(true);
        capturer.join();
        say(valid ? "captures: all valid" : "captures: some are not valid");
    }

    Client m_client;
};

}  // namespace
}  // namespace victim

int main(int argc, char** argv) {
    std::vector<std::string> words{argv + 1, argv + argc};
    victim::fork_early(words);
    victim::open_device();
    victim::GraphInterpreter(std::move(words)).run();
}
