// SPDX-License-Identifier: Apache-2.0
#include "serving.hpp"

#include <stdlib.h>

#include <filesystem>
#include <set>
#include <sstream>

namespace cudnn_tune::test {

void RealServing::SetUp() {
    std::string name = (std::filesystem::temp_directory_path() / "cudnn-tune-real-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    m_folder = name;
}

void RealServing::TearDown() {
    if (!m_folder.empty()) {
        std::filesystem::remove_all(m_folder);
    }
}

testing::ChildResult RealServing::run(const RealLibrary& library, const std::string& scenario,
                                      const std::vector<std::string>& problems, const ClientRun& how) const {
    std::vector<std::string> argv;
    if (how.binding == Binding::linked) {
        argv = {CUDNN_TUNE_TEST_LINKED_CLIENT};
    } else {
        argv = {CUDNN_TUNE_TEST_DLSYM_CLIENT, library.path};
    }
    argv.insert(argv.end(), {scenario, CUDNN_TUNE_TEST_DEVICE, CUDNN_TUNE_TEST_SHAPES});
    argv.insert(argv.end(), problems.begin(), problems.end());
    testing::ChildOptions options;
    options.environment = how.environment;
    options.environment["LD_LIBRARY_PATH"] = library.search_path;
    options.timeout_s = 600;
    if (how.preloaded) {
        options.environment["LD_PRELOAD"] = CUDNN_TUNE_TEST_SHIM;
        options.environment.emplace("CUDNN_TUNE_CACHE", cache_path());
        options.environment.emplace("CUDNN_TUNE_LOG", "info");
    }
    return testing::run_child(argv, options);
}

Answers parse_list(const std::string& text) {
    Answers answers;
    std::istringstream lines(text);
    std::string line;
    Answer* current = nullptr;
    while (std::getline(lines, line)) {
        if (line.starts_with("  ")) {
            current->configurations.push_back(line.substr(2));
            continue;
        }
        const std::size_t at = line.find(" mode ");
        if (at == std::string::npos) {
            ADD_FAILURE() << "not understood: " << line;
            return {};
        }
        current = &answers[{line.substr(0, at), std::stoi(line.substr(at + 6))}];
        current->head = line;
    }
    return answers;
}

Prepared prepare(const RealLibrary& library, const key::Environment& environment, std::size_t sample_size) {
    Prepared prepared;
    std::set<std::string> keys;
    std::size_t seed = 1;
    for (const ConvolutionShape& shape : shapes_to_test(sample_size)) {
        for (const ConvolutionShape& form : forms_of(shape)) {
            const auto record = make_record(library, form, environment, seed++ * 7 + 1);
            // Two rows of the CSV files may be one problem.
            if (!record || !keys.insert(record->key.problem + record->key.api).second) {
                continue;
            }
            prepared.ids.push_back(form.id);
            prepared.preferred[form.id] = to_text(plain(record->candidates.front()));
            prepared.records.push_back(*record);
        }
    }
    return prepared;
}

std::vector<std::string> texts_of(const cache::Record& record, const select::GraphListQuestion& question) {
    std::vector<std::string> texts;
    for (const std::size_t index : select::served_list(record.candidates, question)) {
        texts.push_back(to_text(plain(record.candidates[index])));
    }
    return texts;
}

}  // namespace cudnn_tune::test
