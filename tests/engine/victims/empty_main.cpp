// SPDX-License-Identifier: Apache-2.0
// For a victim that does everything in the constructor of its library.
int main() {}
