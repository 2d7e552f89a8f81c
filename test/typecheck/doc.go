// Command typecheck finds what does not compile on another platform, without compiling for it: each package is parsed and type-checked from
// its source, tests included, the dependencies without their functions' bodies. For the three other platforms of a release this takes a
// fifth of what their builds take. `make cross-build` builds for each.
package main
