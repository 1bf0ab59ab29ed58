#include "signature.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "generated.h"

namespace npusim {

namespace {

const std::map<std::string, Kind>& kinds() {
    static const std::map<std::string, Kind> table = {
        {"list", Kind::tensors},  {"scalar", Kind::scalar}, {"scalars", Kind::scalars}, {"ints", Kind::ints},
        {"floats", Kind::floats}, {"bools", Kind::bools},   {"i64", Kind::i64},         {"i32", Kind::i32},
        {"i8", Kind::i8},         {"bool", Kind::boolean},  {"f64", Kind::f64},         {"f32", Kind::f32},
        {"str", Kind::string},    {"dtype", Kind::dtype},
    };
    return table;
}

// The table is part of the library, so a mistake in it is one of the library's own.
[[noreturn]] void reject(const std::string& line) {
    std::fprintf(stderr, "npusim: operators.txt: cannot read: %s\n", line.c_str());
    std::abort();
}

// `word` is one of  name  name:kind  >name  >name:kind  &name  &name:kind  &name@condition.
Parameter parse(std::string word, const std::string& line) {
    Parameter parameter;
    if (word[0] == '>') parameter.direction = Direction::out;
    if (word[0] == '&') parameter.direction = Direction::inout;
    if (parameter.direction != Direction::in) word.erase(0, 1);
    const size_t at = word.find('@');
    if (at != std::string::npos) {
        parameter.condition = word.substr(at + 1);
        word.erase(at);
    }
    const size_t colon = word.find(':');
    parameter.name = word.substr(0, colon);
    if (colon != std::string::npos) {
        const auto kind = kinds().find(word.substr(colon + 1));
        if (kind == kinds().end()) reject(line);
        parameter.kind = kind->second;
    }
    return parameter;
}

std::map<std::string, Signature> read_table() {
    std::map<std::string, Signature> table;
    std::istringstream text(kOperatorTable);
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string op, word;
        if (!(words >> op)) continue;
        Signature signature;
        while (words >> word) signature.push_back(parse(word, line));
        if (!table.emplace("aclnn" + op, std::move(signature)).second) reject(line);
    }
    return table;
}

}  // namespace

const Signature* find_signature(const std::string& op) {
    static const auto* const table = new std::map<std::string, Signature>(read_table());
    const auto found = table->find(op);
    return found == table->end() ? nullptr : &found->second;
}

}  // namespace npusim
