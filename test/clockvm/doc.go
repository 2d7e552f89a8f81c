// Command clockvm does to a virtual machine what must not be done to the one that tests run on: it sets the wall clock an hour forth and
// back, and makes process numbers scarce so that each is used again within seconds, under the real agent on a real containerd with
// pods. It prints what became of the agent and the pods, and how long other pods take to start meanwhile.
//
// The program is both sides: outside it builds the machine and boots it; in there it is the scenario. See package vm.
package main
