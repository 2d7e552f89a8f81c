// Package vm runs a program in a small virtual machine: QEMU without hardware's help, Debian's kernel, and a tree of files in memory. It
// is for what must not be done to the machine that tests run on, such as setting its clock.
//
// The program is the one that calls [Run]: its executable is the machine's first process too. A main function begins with
//
//	if vm.Inside() {
//		vm.Init(guest) // does not return
//	}
//
// so it has to be static: built without cgo. The machine has no disk and no network but what the program makes; all it has is the tree that
// it was given. It ends with the program, and leaves nothing.
//
// The kernel's package and what is taken out of it are kept in the cache of test/lab. The package runs goroutines that copy
// the machine's output while [Run] continues, and publishes no events.
package vm
