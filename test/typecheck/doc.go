// Command typecheck finds what does not compile on another platform, without compiling for it: each package is parsed and type-checked from
// its source, with the tests of this module; of Go's own library, only the declarations. What compiles and does not link is found by
// `make cross-build`, which builds for each platform and takes many times longer.
package main
