#include <stategraph/worker.hpp>

// It only shows that the library links, because a worker needs a database.
int main() {
    try {
        const stategraph::Worker worker(nullptr);
    } catch (const stategraph::InvalidArgumentError&) {
        return 0;
    }
    return 1;
}
