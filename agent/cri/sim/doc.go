// Package sim is a container runtime in memory: the CRI's RuntimeService and ImageService behind real gRPC, with
// containerd's state rules, error texts and codes, and with latencies and faults that the caller chooses. It serves
// `kubeloupe run --runtime sim`, tests of the agent, and tests at a scale that a machine could not run.
//
// It creates no process, mount, network or cgroup. A container's command is simulated (package internal/script): sleep
// sleeps, exit exits, a trap handles the stop signal, an unknown program runs until it is stopped. Only the container's
// log, in the CRI's format, and the termination message file are written to disk. Statistics and addresses are
// invented. The name of the runtime is "kubeloupe-sim", its version "simulated".
//
// test/crisuite runs one suite against this package and against containerd. Where they differ, this package is wrong.
//
// New builds; Serve and Run serve until their context ends. The methods can also be called directly, without gRPC, and
// under testing/synctest: all waits use package time. There is one goroutine for each running container, and one for
// each background job of its script. Close ends them all. The package publishes no trace events: the CRI client does.
package sim
