// Command recordings makes the recordings that golden tests read, again: sessions of
// kubeloupe with a real containerd, in a real cluster, and on the simulated runtime.
//
//	ip netns add recordings && nsenter --net=/run/netns/recordings ip link set lo up
//	nsenter --net=/run/netns/recordings go run ./test/recordings
//	ip netns delete recordings
//	go test ./tui -run TestRecorded -update
//	go test ./inspect/why -run TestRecorded -update
//
// The network namespace is for the cluster, of which each has one at most; -only takes
// some of the sessions. Each is a script of things that happen after fixed times, so
// that two runs differ in times only; they take two minutes together. It needs Linux and
// root, and what the lab needs (docs/lab.md).
//
// Recordings stay as they are unless there is a reason: one that was made by an older
// version is the test that older recordings open.
//
// It owns nothing but the scripts. Labs, agents and directories are gone when it ends.
package main
